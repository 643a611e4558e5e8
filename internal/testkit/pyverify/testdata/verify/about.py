"""bundle.json, which has one meaning for all readers of JSON."""
import json, re
from notes import need
from records import HASH, event_time

TEXT, FLAG, TIME, SHA256, NUMBER, COUNT = "text", "flag", "time", "hash", range(-2**63, 2**63), range(2**64)
LOST = {"leaf": NUMBER, "by": TEXT, "time": TIME, "outbox": TEXT, "last": COUNT, "key": TEXT}
GAP = {"producer": TEXT, "first": COUNT, "last": COUNT, "cause": TEXT, "reason": TEXT, "run": TEXT}
PRODUCER = {"producer": TEXT, "sent": COUNT, "held": COUNT, "listed": COUNT, "manifests": NUMBER, "in_flight": FLAG, "in_flight_events": COUNT, "in_flight_since": TIME,
            "unchecked": FLAG, "unheard": FLAG, "state": TEXT, "interval": COUNT, "heard": TIME, "silent": FLAG, "lost": LOST, "unsigned_before": TIME,
            "enrolled": FLAG, "issuer": TEXT, "enrolled_from": TIME, "grant_fault": TEXT}
RECORD = {"leaf": NUMBER, "class": TEXT, "producer": TEXT, "sequence": COUNT, "stream_sequence": COUNT, "sha256": SHA256}
ACKNOWLEDGED = {"leaf": NUMBER, "order": TEXT, "by": TEXT, "reason": TEXT, "ticket": TEXT, "time": TIME}
MATTER = {"id": TEXT, "kind": TEXT, "producer": TEXT, "run": TEXT, "first": COUNT, "last": COUNT, "reason": TEXT, "acknowledged": ACKNOWLEDGED}
WINDOW = {"completeness": TEXT, "producers": [PRODUCER], "gaps": [GAP], "runs": {"sealed": NUMBER, "open": NUMBER, "unsealed": NUMBER},
          "open_runs": [TEXT], "unsealed_runs": [TEXT], "unproven_because": [TEXT], "foreign": [RECORD | {"reason": TEXT}], "foreign_count": NUMBER,
          "contradicting": [RECORD | {"finding": TEXT, "id": TEXT, "first": NUMBER, "recorded_twice": FLAG}], "contradictions": NUMBER, "recorded_twice": NUMBER,
          "denied_results": [{"denied": NUMBER, "result": NUMBER, "run": TEXT, "tool_call": TEXT, "producer": TEXT}], "denied_result_count": NUMBER,
          "acknowledged": {"findings": [MATTER], "acknowledged_count": NUMBER, "unacknowledged_count": NUMBER, "exit": NUMBER}}
ABOUT = {"format": TEXT, "tenant": TEXT, "run": TEXT, "from": TIME, "to": TIME, "times": TEXT, "leaves": NUMBER, "size": NUMBER, "stamped": FLAG, "unheard": [TEXT],
         "seals": [{"producer": TEXT, "sequence": COUNT, "sha256": SHA256}], "gaps": [GAP], "acknowledged": [{"leaf": NUMBER, "order": TEXT}],
         "absent": [{"producer": TEXT, "heard": TIME, "lost": LOST}], "unsealed": FLAG, "pending": [{"order": TEXT, "checkpoint": TEXT, "proof": [TEXT]}], "window": WINDOW}


def read_about(data):
    """Returns bundle.json, whose names are known, exact and not repeated."""
    need(len(data) <= 16 << 20, "bundle.json is too large")
    need(not re.search(rb"\\u[dD][89a-fA-F]", re.sub(rb"\\[^u]", b"", data)), "bundle.json: a surrogate is escaped")
    return shaped(json.loads(data.decode(), object_pairs_hook=tuple, parse_int=whole, parse_float=whole, parse_constant=whole), ABOUT, [])


def whole(text):
    need(re.fullmatch(r"-?[0-9]+", text) and text != "-0", "bundle.json: not a whole number")
    return int(text)


def shaped(value, shape, entries):
    """The value with objects as dictionaries, if it has this shape."""
    if isinstance(shape, dict):
        need(isinstance(value, tuple) and len({n for n, _ in value}) == len(value) and {n for n, _ in value} <= set(shape), "bundle.json: a member is unknown or there twice")
        return {n: shaped(v, shape[n], entries) for n, v in value}
    if isinstance(shape, list):
        need(value is None or isinstance(value, list), "bundle.json: not a list")
        entries.extend(value or [])
        need(len(entries) <= 100_000, "bundle.json: too many entries")
        return [shaped(v, shape[0], entries) for v in value or []]
    if isinstance(shape, range):
        need(type(value) is int and value in shape, "bundle.json: not a number")
    else:
        need(isinstance(value, bool if shape == FLAG else str) and (shape != TIME or event_time(value) and "T" in value), "bundle.json: not a %s", shape)
        need(shape != SHA256 or re.fullmatch(HASH, value), "bundle.json: not a hash")
    return value
