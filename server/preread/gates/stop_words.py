"""Words of a prompt that are never the name of a feature."""

from __future__ import annotations

STOP_WORDS = frozenset(
    """
a an the this that these those it its they them their we us our you your i me my he she his her
who which what whose of in on at to from for with without by into onto over under about after
before between through during per via as and or but not nor so if when while then than is are be
was were been do does did has have had can could should would will may must all each every any
some no none both other another same such new existing old current following above below first
last next one two more most only also test tests testing tested plan plans planning planner spec
specs suite case cases scenario scenarios coverage write add create make generate run fix update
feature features flow flows page pages screen screens form forms dialog dialogs module modules
endpoint endpoints api component components view views wizard wizards journey journeys story
stories unit e2e integration end-to-end regression smoke code file files folder project app
application please here there
""".split()
)
