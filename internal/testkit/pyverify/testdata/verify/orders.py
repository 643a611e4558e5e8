"""Orders, changes of the key, and issuers of grants."""
import base64, fnmatch, re
from notes import Bad, Key, lines, need, ns, open_note, read_note
from records import order_in


ORDER = ["tenant", "action", "id", "time", "by", "reason", "ticket", "run", "event", "user", "kind", "from", "to", "hold", "old", "key", "findings", "issuer", "floor", "approvers", "for", "within", "tree", "leaves"]
PLAIN = ("lift", "key", "issuer", "revoke", "acknowledge", "floor", "approvers")  # they select no records


def read_order(text):
    o = {n: v.decode() for n, v in lines(text, b"hooktrail/order/v1\n", ORDER).items()}
    need(all(o.get(n) for n in ("action", "id", "by", "reason", "time", "tree")), "a line is missing")
    o["tenant"] = o.get("tenant", "")
    ns(o["time"])
    size, root = o["tree"].split(" ")
    o["size"], o["root"], o["ranges"] = int(size), base64.b64decode(root, validate=True), []
    for part in o.get("leaves", "").split():
        first, _, last = part.partition("-")
        first, last = int(first), int(last or first)
        need((o["ranges"][-1][1] + 2 if o["ranges"] else 0) <= first <= last < o["size"], "leaves are not ascending ranges")
        o["ranges"].append((first, last))
    selection, action = {n for n in ("run", "event", "user", "kind", "from", "to") if n in o}, o["action"]
    need((action == "key") == ("key" in o) == ("old" in o), "old or key is wrong")
    for line, actions in (("hold", ["lift"]), ("issuer", ["issuer", "revoke"]), ("findings", ["acknowledge"]), ("floor", ["floor"])):
        need((line in o) == (action in actions), "%s is wrong", line)
    rule = {"approvers", "for", "within"} & set(o)
    need(not rule or action == "approvers" and len(rule) == 3, "a rule is wrong")
    need(action in PLAIN or action == "hold" or action == "erase" and selection & {"run", "event", "user"} or action == "prune" and "to" in o, "not an order")
    need(action not in PLAIN or not selection - ({"from"} if action == "revoke" else set()) and not o["ranges"], "it selects records")
    o["approvers"], o["for"] = [Key(k) for k in o.get("approvers", "").split()], o.get("for", "").split()
    o["floor"], o["within"] = int(o.get("floor", 0)) * 10**9, int(o.get("within", 0)) * 10**9
    o["findings"] = o["findings"].split(" ") if "findings" in o else []
    need(all(re.fullmatch("[0-9a-f]{64}", id) for id in o["findings"]) and len(set(o["findings"])) == len(o["findings"]) <= 1000, "findings are wrong")
    return o


def key_change(note):
    text, signatures = read_note(note)
    o = read_order(text)
    need(o["action"] == "key" and o["old"] != o["key"], "it changes no key")
    o["old"], o["key"] = Key(o["old"]), Key(o["key"])
    need([s[:2] for s in signatures] == [(k.name, k.hash) for k in (o["old"], o["key"])], "not signed by both keys")
    need(all(k.signed(text, s[2]) for k, s in zip((o["old"], o["key"]), signatures)), "a signature is wrong")
    return o


class Keys:
    """The keys of a ledger in the order of their changes, and the leaves that put them in charge."""

    def __init__(self, key, tenant, orders, pending=()):
        changes = []
        for leaf, note in orders:
            try:
                o = key_change(note)
            except (Bad, ValueError):
                continue
            if o["tenant"] == tenant:
                changes.append((leaf, o["old"], o["key"], leaf))
        changes = sorted(changes + [(leaf, o["old"], o["key"], -1) for leaf, o in pending], key=lambda c: c[0])
        self.chain, self.since, self.recorded, until = [key], [-1], [-1], float("inf")
        while found := [c for c in changes if c[2] == self.chain[0] and c[0] <= until]:  # towards older keys
            leaf, before, _, recorded = found[0]
            if before in self.chain:
                break
            self.since[0], self.recorded[0], until = leaf, recorded, until if recorded < 0 else leaf
            self.chain.insert(0, before), self.since.insert(0, -1), self.recorded.insert(0, -1)
        while found := [c for c in changes if c[1] == self.chain[-1] and (c[3] < 0 or c[0] >= self.since[-1])]:
            leaf, _, after, recorded = found[0]
            if after in self.chain:
                break
            self.chain.append(after), self.since.append(leaf), self.recorded.append(recorded)
        self.since = [max(self.since[:i + 1]) for i in range(len(self.since))]

    def at(self, size):
        return self.chain[sum(s < size for s in self.since[1:]):]

    def effect(self, leaf, before):
        """The effect of an order at leaf that replaces a key, or None if that was not in charge."""
        charge = self.at(leaf)
        if before not in charge:
            return None
        i = len(self.chain) - len(charge) + charge.index(before) + 1
        return "done" if i < len(self.chain) and self.recorded[i] == leaf else "void"


def notes_of(rows):
    """The texts of all orders with their leaves."""
    accessed = [r for r in rows if r.cls == b"event" and r.kind == b"audit.accessed" and r.event]
    return [(r.index, order_in(r.event).encode()) for r in accessed if order_in(r.event)]


class Orders:
    """The orders that count so far, with the holds and rules in force."""

    def __init__(self, keys, tenant):
        self.keys, self.tenant, self.ids, self.holds, self.rows, self.floor, self.rule = keys, tenant, set(), [], [], 0, None
        self.acknowledged = set()  # ids of findings

    def needs(self, o):
        """Whether an order needs a second person."""
        return self.rule and (o["action"] in self.rule["for"] + ["approvers"] or o["action"] == "floor" and o["floor"] < self.floor)

    def read(self, row, note):
        """Reads an order, which sets "effect" if it waits for its approval or came too late."""
        keys = self.keys.at(row.index)
        text, signatures = read_note(note)
        if len(signatures) == 1:
            o = read_order(open_note(note, keys))
            return o | {"effect": "proposed"} if self.needs(o) else o
        need(self.rule and len(signatures) == 2, "it has something besides one signature")
        o, pair = read_order(text), []
        for list_, (name, hash, signature) in zip((keys, self.rule["approvers"]), signatures):
            pair += [k for k in list_ if (k.name, k.hash) == (name, hash) and k.signed(text, signature)][:1]
        need(len(pair) == 2 and pair[0].raw != pair[1].raw and o["action"] != "key", "no approver has signed it")
        need(o["by"].strip().lower() != pair[1].name.lower(), "one person has given and approved it")
        late = row.stored > ns(o["time"]) + self.rule["within"]
        return o | {"approved": True} | ({"effect": "expired"} if late else {})

    def open(self, row):
        """Returns the order at a leaf if it counts, with "effect" unless it erases records."""
        note = dict(notes_of([row])).get(row.index)
        if not note:
            return None
        try:
            if read_order(read_note(note)[0])["action"] == "key":
                o = key_change(note)
                o["effect"] = self.keys.effect(row.index, o["old"])
                need(o["effect"], "the key was not in charge")
            else:
                o = self.read(row, note)
            need(o["tenant"] == self.tenant, "it is of another tenant")
            if "approved" in o:  # it takes the place of the proposed one
                proposed = [x for x in self.rows if x[1]["id"] == o["id"] and x[1]["effect"] == "proposed"]
                self.rows = [x for x in self.rows if x not in proposed]
                self.ids -= {x[1]["id"] for x in proposed}
            need(o["id"] not in self.ids, "it was given before")
        except (Bad, ValueError):
            return None
        self.ids.add(o["id"])
        self.rows.append((row.index, o))
        if "effect" not in o and not word(o):
            self.change(o)
        return o

    def change(self, o):
        o["effect"] = "done"
        if o["action"] == "hold":
            self.holds.append(o)
        elif o["action"] == "lift":
            o["effect"] = "done" if any(h["id"] == o["hold"] for h in self.holds) else "void"
            self.holds = [h for h in self.holds if h["id"] != o["hold"]]
        elif o["action"] == "acknowledge":
            self.acknowledged |= set(o["findings"])
        elif o["action"] == "floor":
            self.floor = o["floor"]
        elif o["action"] == "approvers":
            self.rule = o if o["approvers"] else None

    def protects(self, o, order, row):
        """Whether the retention floor protects a record from an order."""
        return o["action"] == "prune" and self.floor and (not row.stored or not order.stored or row.stored > order.stored - self.floor)


class Issuers:
    """The orders about issuers of grants."""

    def __init__(self, keys, tenant, notes):
        self.keys, self.tenant, self.orders = keys, tenant, []
        for leaf, note in notes:
            try:
                o = read_order(open_note(note, keys.at(leaf)))
            except (Bad, ValueError):
                continue
            if "issuer" in o and o["tenant"] == tenant and all(o["id"] != before["id"] for _, before in self.orders):
                self.orders.append((leaf, o))

    def endorsed(self, grant, leaf):
        try:
            f = lines(open_note(grant.get("endorsed", "").encode(), self.keys.at(leaf)), b"hooktrail/issuer/v1\n", ["issuer", "tenant", "time"])
        except (Bad, ValueError):
            return False
        return f["issuer"].decode() == grant["issuer"] and f.get("tenant", b"").decode() in ("", self.tenant)

    def counts(self, m, r):
        """Whether the grant of a manifest shows whose key signed it."""
        grant = m.get("grant")
        if not grant or not m["signed"] or not m["granted"] or grant["key"] != m["key"]:
            return False
        if grant.get("producer", m["producer"]) != m["producer"] or grant.get("tenant", m["tenant"]) != m["tenant"]:
            return False
        if "expires" in grant and r.stored >= ns(grant["expires"]):
            return False
        known, revoked = self.endorsed(grant, r.index), False
        for leaf, o in self.orders:
            if o["issuer"] != grant["issuer"]:
                continue
            if leaf > r.index and revoked:
                break
            if o["action"] == "issuer":
                known, revoked = True, False
            elif leaf < r.index or "from" in o and r.stored >= ns(o["from"]):
                known, revoked = False, True
        return known


def fits(o, r):
    """Whether a leaf matches the selection of an order, except for the user."""
    ok = o.get("run", "").encode() in (b"", r.run) and (o.get("event", "").encode() in (b"", r.id) and ("event" not in o or r.cls == b"event"))
    ok = ok and ("kind" not in o or fnmatch.fnmatchcase(r.kind.decode("utf-8", "replace"), o["kind"]))
    return ok and ("from" not in o or r.time >= o["from"].encode()) and ("to" not in o or r.time and r.time < o["to"].encode())


def has(o, leaf):
    return any(first <= leaf <= last for first, last in o["ranges"])


def word(o):
    return {"erase": "erased", "prune": "pruned"}.get(o["action"])
