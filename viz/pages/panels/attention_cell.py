"""One cell of a head: how its weight was made, and what a screen reader says of it."""

from viz import figures
from viz.pages import controls
from viz.pages.blocks import Block, Piece
from viz.pages.panels.head_title import head_name
from viz.pages.scene import Scene, empty, heading


def blocks(scene: Scene) -> list[Block]:
    chosen = scene.selection
    return [Piece("arithmetic", (scene.site, scene.head, chosen.query, chosen.key), lambda: _arithmetic(scene))]


def spoken(scene: Scene) -> str:
    """ "query it, key dog, weight 0.41"."""
    weight = float(scene.row[scene.key])
    return scene.say(
        "attention.spoken", query=scene.queries[scene.query], key=scene.keys[scene.key], weight=f"{weight:.3f}"
    )


def _arithmetic(scene: Scene) -> str:
    query, key = scene.queries[scene.query], scene.keys[scene.key]
    lead = scene.html("explore.cell.lead", head=head_name(scene), query=query, key=key)
    title = heading(scene.say("explore.cell.title"), lead)
    if scene.how.weights is not None:
        return title + empty(scene.say("lack.weights_only"))
    cell = _cell(scene)
    panel = figures.attention_arithmetic(
        cell["query_vector"],
        cell["keys"][scene.key],
        scale=cell["scale"],
        row_scores=cell["row_scores"],
        key_index=scene.key,
        weight=float(scene.row[scene.key]),
        bias=0.0 if cell["bias"] is None else float(cell["bias"][scene.key]),
        allowed=bool(cell["allowed"][scene.key]),
        softcap=cell["softcap"],
        sink=cell["sink"],
        query=query,
        key=key,
        language=scene.language,
    )
    code = figures.as_numpy(cell.pop("query_vector"), cell.pop("keys"), key_index=scene.key, **cell)
    return f'{title}<div class="stt-panel">{panel}{controls.copied(scene.say("explore.cell.copy"), code)}</div>'


def _cell(scene: Scene) -> dict:
    """What the chosen weight was made of, by the names of `figures.as_numpy`."""
    trace, how, head, query = scene.trace, scene.how, scene.head, scene.query
    row = slice(query, query + 1)
    return {
        "query_vector": trace[f"{scene.site}.q"][head, query],
        "keys": trace[f"{scene.site}.k"][how.kv_head(head)],
        "scale": how.scale,
        "row_scores": trace.masked(scene.site, head, row)[0],
        "allowed": trace.allowed(scene.site, head, row)[0],
        "bias": None if how.bias is None else trace[f"{scene.site}.bias"][head, query],
        "softcap": how.softcap,
        "sink": None if how.sinks is None else float(how.sinks[head]),
    }
