"""What a text says in short, without a model: summary, title, topic, key phrases, headlines, names, themes.

English and Chinese by design; other languages by what they share with these: words, capitals, frequency. All functions
are deterministic, linear in the text, and take texts of megabytes, in one line too. Markdown's marks, addresses, code
and tables are no part of what a text says. A blank text gives "" or [].
"""

from knotwork.digest.headings import headlines
from knotwork.digest.names import entities
from knotwork.digest.subjects import keyphrases, themes
from knotwork.digest.summaries import summary
from knotwork.digest.titles import title, topic_description

__all__ = ["entities", "headlines", "keyphrases", "summary", "themes", "title", "topic_description"]
