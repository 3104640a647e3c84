"""Other libraries' things as ours, and ours as theirs: a module a library, imported by name.

knotwork.interop.haystack     the semantic splitter as a component of a Pipeline      extra [haystack]
knotwork.interop.langchain    documents in, evidence and chunks out                   extra [langchain]
knotwork.interop.ragas        its knowledge-graph files in and out                    extra [ragas], for live objects
knotwork.interop.networkx     the graph, and the entities as its users' tools want    extra [networkx]
"""
