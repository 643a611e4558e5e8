"""Evidence from outside: pinned keys, trusted checkpoints, and witnesses."""
import ast, base64, os, re
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from notes import Bad, Checkpoint, Key, need, open_note, read_note, sha
from orders import Keys

LAG = 60 * 10**9


# Pins

class Pin:
    def __init__(self, origin, folder, key, data_dir):
        self.origin, self.key = origin, key
        self.of_directory = data_dir is not None and folder == os.path.abspath(data_dir)
        self.binding = self.of_directory or folder is None and origin != "*"


def read_pins(path, data_dir):
    pins = []
    if path is None or not os.path.exists(path):
        return pins
    for line in open(path, encoding="utf-8").read().splitlines():
        line = line.rstrip()
        if not line or line.startswith("#"):
            continue
        m = re.fullmatch(r'(\S+) (-|"(?:[^"\\]|\\.)*") (\S+) (\S+)', line)
        need(m, "a line of the pins is wrong")
        pins.append(Pin(m[1], None if m[2] == "-" else ast.literal_eval(m[2]), Key(m[3]), data_dir))
    return pins


def vouch(q, key, origin, tenant, notes, leads, pending=()):
    """Returns the keys of the ledger and the anchor. leads says whether keys are those of the evidence."""
    own = Keys(key, tenant, notes, pending)
    pins = [p for p in read_pins(q.known, q.data_dir) if p.origin in ("*", "hooktrail/" + origin) and (not q.key or p.of_directory)]
    binding = any(p.binding for p in pins)
    for p in pins:
        keys = Keys(p.key, tenant, notes, pending)
        if p.binding == binding and leads(keys):
            return (own, "GIVEN") if q.key else (keys, "PINNED")
    return own, "DIVERGED" if binding else "GIVEN" if q.key else "NONE"


# Checkpoints from elsewhere

class Outside:
    """A checkpoint from elsewhere. Without its own signature it is unusable, unless the user said to trust it."""

    def __init__(self, text, kind):
        self.kind, self.note = kind, text.rstrip(b" \t\r\n") + b"\n"
        self.compared, self.usable, self.diverged = None, True, False
        try:
            self.at = Checkpoint(self.note)
        except (Bad, ValueError):
            need(kind != "trusted", "the trusted checkpoint cannot be read")
            self.usable = False

    def check(self, keys):
        """Checks the signature. Another key than that of the ledger means that another ledger was here."""
        charge = keys.at(self.at.size)
        others = not any((k.name, k.hash) == (n, h) for n, h, _ in read_note(self.note)[1] for k in charge)
        try:
            open_note(self.note, charge, only=False)
        except Bad:
            self.diverged = self.kind == "trusted" or others and self.kind == "file"
            self.usable = self.diverged

    def conclude(self, newest):
        """Judges the comparison with a whole ledger."""
        if self.usable and not self.diverged:
            behind = self.at.arrivals == newest.arrivals and self.at.position > newest.position
            self.diverged = not self.compared or self.at.origin != newest.origin or behind


# Witnesses

class Witness(Key):
    TYPE = 4

    def signed(self, text, signature):
        if len(signature) != 72 or not 0 < int.from_bytes(signature[:8], "big") <= 253402300799:
            return False
        return super().signed(b"cosignature/v1\ntime %d\n" % int.from_bytes(signature[:8], "big") + text, signature[8:])


class Policy:
    """A witness policy. It is met if each part that quorum needs is met."""

    def __init__(self, text):
        self.logs, self.parts, self.quorum, quorums = [], {}, None, 0
        for fields in (line.split() for line in text.split("\n")):
            if not fields or fields[0].startswith("#"):
                continue
            if fields[0] == "log":
                self.logs.append(Key(fields[1]).raw)
            elif fields[0] == "witness":
                self.define(fields[1], Witness(fields[2]))
            elif fields[0] == "group":
                members = fields[3:]
                need(members and all(m in self.parts for m in members), "a group has unknown members")
                least = {"any": 1, "all": len(members)}.get(fields[2]) or int(fields[2])
                need(1 <= least <= len(members), "a group needs more members than it has")
                self.define(fields[1], (least, members))
            else:
                need(fields[0] == "quorum" and (fields[1] == "none" or fields[1] in self.parts), "a line of the policy is wrong")
                self.quorum, quorums = fields[1], quorums + 1
        need(quorums == 1, "a policy has one quorum")

    def define(self, name, part):
        need(name != "none" and name not in self.parts, "a name is there twice")
        self.parts[name] = part

    def accepts(self, note):
        """Whether a log of the policy and enough witnesses have signed a note."""
        text, signatures = read_note(note)

        def met(name):
            part = self.parts.get(name)
            if isinstance(part, tuple):
                return sum(map(met, part[1])) >= part[0]
            mine = [s for n, h, s in signatures if part and (n, h) == (part.name, part.hash)]
            return name == "none" or bool(mine) and all(part.signed(text, s) for s in mine)
        return (not self.logs or any(verifies(raw, s, text) for raw in self.logs for _, _, s in signatures)) and met(self.quorum)

    def met(self, note, then, newest):
        """Whether a cosigned checkpoint is good enough for the newest one."""
        recent = then.arrivals >= newest.arrivals or newest.time - then.time <= LAG
        return self.accepts(note) and recent


def verifies(raw, signature, text):
    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(signature, text)
        return True
    except InvalidSignature:
        return False


def consistent(proof, first, first_root, second, second_root):
    """Whether a proof shows that a tree continues another one (RFC 9162, 2.1.4.2)."""
    if first == second:
        return not proof and first_root == second_root
    if not 0 < first < second:
        return False
    path, fn, sn = list(proof), first - 1, second - 1
    if first & (first - 1) == 0:
        path.insert(0, first_root)
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    if not path:
        return False
    fr = sr = path[0]
    for c in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = sha(b"\1" + c + fr), sha(b"\1" + c + sr)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = sha(b"\1" + sr + c)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and (fr, sr) == (first_root, second_root)


def read_continued(text, keys, newest, stamp=False):
    """Returns a checkpoint that the one of the bundle must continue, and its note. A time stamp has its token between proof and note."""
    head, _, note = (b"\n" + text).partition(b"\n\n")
    if stamp:
        token, _, note = note.partition(b"\n\n")
        header, _, token = token.partition(b"\n")
        need(header == b"hooktrail/timestamp/v1" and token and base64.b64encode(base64.b64decode(token, validate=True)) == token, "timestamp.txt has no token")
    proof = [base64.b64decode(line, validate=True) for line in head.split(b"\n")[1:]]
    then = Checkpoint(note)
    open_note(note, keys.at(then.size), only=False)
    need(then.origin == newest.origin and consistent(proof, then.size, then.root, newest.size, newest.root), "checkpoint.txt does not continue an older checkpoint")
    return note, then
