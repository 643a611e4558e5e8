"""Events, manifests, and leaves with their records."""
import base64, binascii, datetime, json, re, struct
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from notes import Bad, escape, need, sha


KEPT = {"audit.accessed", "run.sealed", "gap.recorded", "producer.lost"}  # no order destroys events of these kinds

LEAF = ["class", "id", "producer", "sequence", "run", "kind", "time", "sha256", "finding"]


def leaf_text(r):
    values = [r.cls, r.id, r.producer, b"%d" % r.sequence if r.sequence else b"", r.run, r.kind, r.time, r.hash.hex().encode(), r.finding]
    return b"hooktrail/leaf/v1\n" + b"".join(n.encode() + b" " + escape(v) + b"\n" for n, v in zip(LEAF, values) if v)


def parse(data, number=int):
    """JSON, with objects as tuples of pairs, because a repeated name matters."""
    def constant(_):
        raise ValueError("not JSON")
    need(b"\\" not in ESCAPE.sub(b"", data), "a lone surrogate has no UTF-8")
    return json.loads(data.decode(), object_pairs_hook=tuple, parse_constant=constant, parse_int=number, parse_float=number if number is not int else str)


ESCAPE = re.compile(rb'\\(?:[^u]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?:[^dD].{3}|[dD][0-7].{2}))', re.DOTALL)


def members(pairs):
    return dict(pairs) if isinstance(pairs, tuple) else {}


def event_time(text):
    if not text:
        return ""
    m = re.fullmatch(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))", text, re.ASCII)
    need(m, "not a time")
    t = datetime.datetime.fromisoformat(m[1] + "T" + m[2])
    if m[4]:
        offset = datetime.timedelta(hours=int(m[5]), minutes=int(m[6]))
        need(int(m[5]) < 24 and int(m[6]) < 60, "not a time")
        t = t - offset if m[4] == "+" else t + offset
    text = "%04d%s.%sZ" % (t.year, t.strftime("-%m-%dT%H:%M:%S"), ((m[3] or "") + "0" * 9)[:9])
    need(m[2][:2] < "24" and text != "0001-01-01T00:00:00.000000000Z", "not a time")
    return text


class Number:
    """A number of an event as it is written."""

    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return isinstance(other, Number) and self.text == other.text

    def among(self, first, last):
        """Returns the integer, or None if it is not one from first to last."""
        n = int(self.text) if re.fullmatch("-?[0-9]{1,20}", self.text) else None
        return n if n is not None and first <= n <= last else None


ATTRIBUTES = """specversion id source type subject time datacontenttype tenant producer sequence runid stepid sessionid agent agentrole
    runtype parentagent parentrun toolcall userid agentfs hooks traceparent salt data data_base64""".split()
BASE64 = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"


def depth(data):
    """How deep objects and arrays are nested."""
    deepest = now = 0
    for token in re.finditer(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', data, re.DOTALL):
        now += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(token[0], 0)
        deepest = max(deepest, now)
    return deepest


def attributes(pairs):
    """The attributes of an event. An unknown one that is null is not there."""
    e, more = {}, 0
    for name, value in pairs:
        need(name not in e, "an attribute is there twice")
        if name in ATTRIBUTES:
            need(name == "data" or value is None or isinstance(value, str), "an attribute is not a text")
            e[name] = value
            continue
        need(re.fullmatch("[a-z0-9]+", name), "not the name of an attribute")
        if value is not None:
            need(isinstance(value, (str, bool)) or isinstance(value, Number) and not set(value.text) & set(".eE"), "an attribute is not a simple value")
            e[name], more = value, more + 1
    need(more <= 128, "too many attributes")
    return e


def read_event(data):
    """The attributes of an event that the ledger needs, or None."""
    try:
        need(len(data) <= 64 << 20 and (data.count(b"[") + data.count(b"{") <= 512 or depth(data) <= 512), "too large or too deep")
        pairs = parse(data, Number)
        need(isinstance(pairs, tuple), "not an object")
        e = attributes(pairs)
        need(e.get("specversion") == "1.0", "another version")
        texts = {n: e.get(n) or "" for n in ("id", "source", "type", "time", "sequence", "tenant", "producer", "runid", "toolcall", "userid")}
        need(texts["id"] and texts["source"] and texts["type"], "an attribute is missing")
        need(re.fullmatch(r"([1-9][0-9]{0,19})?", texts["sequence"], re.ASCII) and int(texts["sequence"] or 0) < 2**64, "not a number")
        binary = e.get("data_base64")
        need(binary is None or "data" not in e and re.fullmatch(BASE64, re.sub("[\r\n]", "", binary)), "data_base64 is wrong")
        kind = texts["type"][len("hooktrail."):] if texts["type"].startswith("hooktrail.") else ""
        return texts | {"kind": kind or "custom", "time": event_time(texts["time"]), "sequence": int(texts["sequence"] or 0), "data": e.get("data")}
    except (Bad, ValueError, TypeError, RecursionError, OverflowError):
        return None


# Payloads

def says(e, name, value):
    """Whether a member has this value. The case of both and all other members do not matter."""
    return isinstance(e["data"], tuple) and any(
        len(n) == len(name) and n.casefold() == name and isinstance(v, str) and v.isascii() and v.lower() == value for n, v in e["data"])


def denies(e):
    return e["kind"] in ("tool.before", "approval") and says(e, "verdict", "deny")


def succeeds(e):
    return e["kind"] == "tool.result" and says(e, "status", "success")


def strict(e, texts=(), numbers=()):
    """These members of a payload that decides about verdicts, or None if it does not count."""
    pairs = e["data"]
    if not isinstance(pairs, tuple) or len(pairs) > 64 or len({n for n, _ in pairs}) < len(pairs) or not all(re.fullmatch("[a-z0-9_]+", n) for n, _ in pairs):
        return None
    d, found = dict(pairs), {}
    for name in texts:
        found[name] = "" if d.get(name) is None else d[name]
        if not isinstance(found[name], str):
            return None
    for name in numbers:
        n = d.get(name)
        found[name] = 0 if n is None else n.among(0, 2**64 - 1) if isinstance(n, Number) and n.text.isdigit() else None
        if found[name] is None:
            return None
    return found


def seal_in(e):
    return strict(e, ["digest"], ["count", "first", "last"])


def gap_in(e):
    return strict(e, ["reason"], ["first", "last"])


def loss_in(e):
    loss = strict(e, ["producer", "outbox", "key"], ["last"])
    return loss if loss and loss["producer"] else None


def order_in(e):
    order = strict(e, ["order"])
    return order["order"] if order else ""


MANIFEST = ["v", "tenant", "producer", "first", "last", "count", "missing", "prev", "root", "state", "interval", "beat", "key", "next", "grant", "sig"]
GRANT = ["issuer", "tenant", "producer", "key", "issued", "expires", "endorsed", "sig"]
NKEY, SIGNATURE, HASH = r"U[A-Z2-7]{55}", r"[A-Za-z0-9+/]{86}==", r"[0-9a-f]{64}"


def ordered(pairs, names):
    """A JSON object whose members are there once, in the order of names."""
    need([n for n in names if n in dict(pairs)] == [n for n, _ in pairs], "members are unknown, twice or out of order")
    return dict(pairs)


def encode(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def signed_by(nkey, text, signature):
    """Whether an nkey of a user signed a text."""
    raw = base64.b32decode(nkey)
    try:
        Ed25519PublicKey.from_public_bytes(raw[1:33]).verify(base64.b64decode(signature), text)
    except InvalidSignature:
        return False
    return raw[0] == 20 << 3 and struct.unpack("<H", raw[33:])[0] == binascii.crc_hqx(raw[:33], 0)


def read_manifest(data):
    """A manifest with "signed", which is None without a signature and otherwise whether it holds, or None."""
    try:
        pairs = parse(data)
        m = dict(pairs)
        need(len(m) == len(pairs) and set(m) <= set(MANIFEST), "a member is unknown or there twice")
        m["missing"] = [ordered(r, ["first", "last", "reason"]) for r in m.get("missing", [])]
        need(all(type(m.get(n)) is int for n in ("v", "first", "last", "count")) and m["producer"] and m["first"] > 0, "a member is missing")
        m = {"tenant": "", "prev": "", "state": "", "interval": 0, "beat": 0, "next": ""} | m
        empty = (m["beat"] or m["next"]) and m["first"] > 1 and m["last"] == m["first"] - 1
        need((m["first"] <= m["last"] or empty) and m["last"] < 2**63, "numbers are wrong")
        need(re.fullmatch(HASH, m["root"]) and (not m["prev"] or re.fullmatch(HASH, m["prev"])), "root or prev is wrong")
        at, count = m["first"], m["last"] - m["first"] + 1
        for r in m["missing"]:
            need(at <= r["first"] <= r["last"] <= m["last"], "missing is wrong")
            at, count = r["last"] + 1, count - (r["last"] - r["first"] + 1)
        need(m["count"] == count, "count is wrong")
        if m["v"] == 1:
            need(not set(m) & {"key", "grant", "sig"} and not (m["state"] or m["interval"] or m["beat"] or m["next"]), "version 1 has no such member")
            return m | {"signed": None}
        own = ordered(pairs, MANIFEST)
        if own.get("missing"):
            own["missing"] = m["missing"]
        if "grant" in own:
            m["grant"] = own["grant"] = grant = ordered(own["grant"], GRANT)
            need(re.fullmatch(NKEY, grant["issuer"]) and re.fullmatch(NKEY, grant["key"]) and re.fullmatch(SIGNATURE, grant["sig"]) and "issued" in grant, "grant is wrong")
            unsigned = {n: v for n, v in grant.items() if n != "sig"}
            m["granted"] = signed_by(grant["issuer"], b"hooktrail/grant/v1\n" + encode(unsigned), grant["sig"])
        need(m["v"] == 2 and encode(own) == data, "not in canonical form")
        need(m["state"] in ("", "open", "closed") and (m["state"] == "open") == (m["interval"] > 0) and (not m["beat"] or m["state"] and empty), "state is wrong")
        need(re.fullmatch(NKEY, m["key"]) and (not m["next"] or re.fullmatch(NKEY, m["next"])) and re.fullmatch(SIGNATURE, m["sig"]), "key or sig is wrong")
        own.pop("sig")
        return m | {"signed": signed_by(m["key"], b"hooktrail/manifest/v2\n" + encode(own), m["sig"])}
    except (Bad, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def derived(*parts):
    h = bytearray(sha(b"".join(struct.pack(">Q", len(p.encode())) + p.encode() for p in parts))[:16])
    h[6], h[8] = h[6] & 15 | 128, h[8] & 63 | 128
    x = h.hex()
    return "-".join((x[:8], x[8:12], x[12:16], x[16:20], x[20:]))


REFERENCE = {"sha256": str, "bytes": int}
CHUNK = {"sha256": str, "bytes": int, "index": int, "chunks": int, "content": bytes, "blobs": {"*": REFERENCE}, "raw": None,
         "redacted": [{"field": str, "rule": str, "start": int, "end": int, "more": int}]}


def typed(value, shape):
    """A value in this shape. Names of members have any case, the last one counts, and others do not matter."""
    if shape is None or value is None:
        return value
    if isinstance(shape, list):
        need(isinstance(value, list), "not an array")
        return [typed(v, shape[0]) for v in value]
    if isinstance(shape, dict):
        need(isinstance(value, tuple), "not an object")
        found = {}
        for name, v in value:
            known = "*" if "*" in shape else next((k for k in shape if len(k) == len(name) and name.casefold() == k), None)
            v = typed(v, shape[known]) if known else None
            if v is not None:
                found[known] = v
        return found
    if shape is int:
        n = value.among(-2**63, 2**63 - 1) if isinstance(value, Number) else None
        need(n is not None, "not an integer")
        return n
    if shape is bytes and isinstance(value, list):
        return bytes(typed(value, [int]))
    need(isinstance(value, str), "not a text")
    if shape is bytes:
        need(re.fullmatch(BASE64, value := re.sub("[\r\n]", "", value)), "not base64")
        return base64.b64decode(value)
    return value


def chunk(e, data):
    """Returns (whole, part, content, cut) of a blob.chunk whose content the ledger stores apart, or None."""
    try:
        d = typed(e["data"], CHUNK) if e["data"] is not None else {}
    except (Bad, ValueError, TypeError):
        return None
    content = d.get("content", b"")
    field = b'"content":"' + base64.b64encode(content) + b'"'
    at = data.find(field)
    ok = re.fullmatch(HASH, d.get("sha256", "")) and d.get("index", 0) >= 0 and content and at >= 0
    return (bytes.fromhex(d["sha256"]), d.get("index", 0), content, at + len(b'"content":"')) if ok else None


def reading(data):
    """What a record says, for a comparison of verifiers record by record."""
    e = read_event(data)
    if not e:
        return {"manifest": read_manifest(data) is not None}
    said = {n: e[n] for n in ("id", "producer", "runid", "kind", "time", "tenant", "toolcall", "userid")} | {"event": True, "sequence": str(e["sequence"])}
    for kind, read in (("run.sealed", seal_in), ("gap.recorded", gap_in), ("producer.lost", loss_in)):
        if e["kind"] == kind and (found := read(e)):
            said["numbers"] = [str(v) for v in found.values() if isinstance(v, int)]
            said["texts"] = [v for v in found.values() if isinstance(v, str)]
    c = chunk(e, data) if e["kind"] == "blob.chunk" else None
    return said | {"denies": denies(e), "succeeds": succeeds(e), "order": order_in(e) if e["kind"] == "audit.accessed" else "",
                   "chunk": [c[0].hex(), str(c[1]), c[2].hex(), str(c[3])] if c else None}


class Row:
    """A leaf, or with cls None an event seen again, whose run and kind are those of the leaf."""

    def __init__(self, **fields):
        self.cls, self.event, self.manifest, self.removed, self.finding = None, None, None, None, b""
        self.__dict__.update(fields)

    def decode(self, data, tenant):
        """Compares a leaf with its record."""
        need(sha(data) == self.hash, "leaf %d: its record was altered", self.index)
        self.event = e = read_event(data)
        self.manifest = m = None if e else read_manifest(data)
        if self.cls in (b"event", b"conflict"):
            said = e and tuple(x.encode() for x in (e["id"], e["producer"], e["runid"], e["kind"], e["time"])) + (e["sequence"],)
            ok = said == (self.id, self.producer, self.run, self.kind, self.time, self.sequence) and (self.cls == b"conflict") == bool(self.finding)
        elif self.cls == b"manifest":
            ok = m and not (self.id + self.run + self.kind + self.time + self.finding) and (m["producer"].encode(), m["last"]) == (self.producer, self.sequence)
        else:
            ok = self.cls == b"quarantine" and self.finding and not (self.id + self.time) and not self.sequence
        need(ok, "leaf %d says something else than its record", self.index)
        need(self.cls == b"quarantine" or (e or m)["tenant"] == tenant, "leaf %d belongs to another tenant", self.index)

    def removable(self):
        return self.cls != b"manifest" and not (self.cls == b"event" and self.kind.decode("utf-8", "replace") in KEPT)
