"""What is said of the chosen head: its name, the row that is looked at, and what its label is."""

from viz.pages.panels import next_token
from viz.pages.panels.together_labels import label_of_head
from viz.pages.scene import Scene, heading, joined


def head_title(scene: Scene) -> str:
    return heading(head_name(scene), joined(_sentences(scene)))


def head_name(scene: Scene) -> str:
    """ "Layer 3 · head 0"."""
    many = len(scene.trace.encodings) > 1
    key = "explore.head.title_of_stack" if many else "explore.head.title"
    return scene.say(key, layer=scene.layer_name(scene.site), head=scene.head)


def _sentences(scene: Scene) -> list[str]:
    row, how = scene.row, scene.how
    most = {"token": scene.keys[int(row.argmax())], "weight": f"{row.max():.3f}"}
    parts = [scene.html("explore.head.row", query=scene.queries[scene.query], **most)]
    if scene.hides_some is None:
        parts.append(scene.html(scene.trace.lacks[f"{scene.site}.allowed"]))
    elif scene.hides_some:
        parts.append(scene.html("explore.head.causal" if how.hides_the_future(scene.head) else "explore.head.masked"))
    parts.append(scene.html("explore.head.sinks" if how.sinks is not None else "explore.head.sums"))
    if ".cross" in scene.site and scene.trace.top is not None:
        best = next_token.names(scene, scene.trace.probabilities(scene.query)[0][:1])[0]
        parts.append(scene.html("explore.head.cross", query=scene.queries[scene.query], answer=best))
    if (label := label_of_head(scene)) is not None:
        parts.append(label)
    if how.kv_heads < how.heads:
        share = how.heads // how.kv_heads
        first = scene.head // share * share
        parts.append(scene.html("explore.head.shared", first=first, last=first + share - 1))
    return parts
