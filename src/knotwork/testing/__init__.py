"""For those who extend Knotwork: the contracts that an implementation of a protocol must keep, as pytest classes."""
