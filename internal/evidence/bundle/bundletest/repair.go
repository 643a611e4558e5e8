package bundletest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Leaf is a line of leaves.jsonl, which describes one record of the bundle.
type Leaf struct {
	ledger.Leaf

	Index         int64
	Epoch, Stream uint64
	Stored        string
}

// Leaves parses leaves.jsonl and returns its lines, one for each record of the bundle.
func (o *Opened) Leaves() []Leaf {
	o.tb.Helper()
	var list []Leaf
	for _, line := range o.Lines("leaves.jsonl") {
		var l struct {
			Index         int64
			Leaf          string
			Raw           []byte `json:"leaf_base64"`
			Epoch, Stream uint64
			Stored        string
		}
		err := json.Unmarshal([]byte(line), &l)
		if l.Raw == nil {
			l.Raw = []byte(l.Leaf)
		}
		parsed, err2 := ledger.ParseLeaf(l.Raw)
		if err != nil || err2 != nil {
			o.tb.Fatal(err, err2)
		}
		list = append(list, Leaf{parsed, l.Index, l.Epoch, l.Stream, l.Stored})
	}
	return list
}

// Drop removes the records for which the given function returns true, and adapts the other files of
// the bundle. Only the signed statement then shows that records are missing.
func (o *Opened) Drop(drop func(Leaf) bool) (dropped []Leaf) {
	o.tb.Helper()
	var leaves, records []string
	tree, page := o.Lines("tree.txt"), o.Files["index.html"]
	oldLeaves, oldRecords := o.Lines("leaves.jsonl"), o.Lines("records.jsonl")
	for i, l := range o.Leaves() {
		if !drop(l) {
			leaves, records = append(leaves, oldLeaves[i]), append(records, oldRecords[i])
			continue
		}
		dropped = append(dropped, l)
		tree = append(tree, fmt.Sprintf("0 %d %s", l.Index, tlog.RecordHash(l.Encode())))
		row := regexp.MustCompile(fmt.Sprintf(`(?s)<tr><td>%d</td>.*?</tr>\n`, l.Index))
		page = row.ReplaceAllLiteralString(page, "")
	}
	slices.SortFunc(tree, func(a, b string) int { return cmp.Compare(o.first(a), o.first(b)) })
	o.SetLines("leaves.jsonl", leaves)
	o.SetLines("records.jsonl", records)
	o.SetLines("tree.txt", tree)
	o.Files["index.html"] = strings.Replace(page, fmt.Sprintf("<td>%d of the ", len(oldLeaves)), fmt.Sprintf("<td>%d of the ", len(leaves)), 1)
	o.describe()
	return dropped
}

func (o *Opened) first(line string) int64 {
	var level, index int64
	if _, err := fmt.Sscanf(line, "%d %d ", &level, &index); err != nil {
		o.tb.Fatal(err)
	}
	return index << level
}

func (o *Opened) describe() {
	o.tb.Helper()
	last := make(map[string]Leaf)
	for _, l := range o.Leaves() {
		if l.Class == ledger.ClassEvent && l.Kind == events.RunSealed {
			last[l.Producer] = l
		}
	}
	o.EditAbout(func(a map[string]any) {
		a["leaves"] = len(o.Lines("leaves.jsonl"))
		if _, ok := a["seals"]; !ok {
			return
		}
		list := []map[string]any{}
		for _, producer := range slices.Sorted(maps.Keys(last)) {
			l := last[producer]
			list = append(list, map[string]any{"producer": producer, "sequence": l.Sequence, "sha256": l.Hash.String()})
		}
		a["seals"] = list
	})
}

// Repeat adds a line to again.jsonl, as if the event of the given leaf had arrived a second time in
// run.
func (o *Opened) Repeat(l Leaf, run string) {
	o.tb.Helper()
	line := o.json(map[string]any{
		"leaf": 0, "run": run, "kind": l.Kind, "producer": l.Producer, "sequence": l.Sequence, "sha256": l.Hash.String(),
		"epoch": l.Epoch, "stream": l.Stream, "stored": l.Stored,
	})
	at := func(line string) uint64 {
		var a struct{ Stream uint64 }
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			o.tb.Fatal(err)
		}
		return a.Stream
	}
	lines := append(o.Lines("again.jsonl"), line)
	slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(at(a), at(b)) })
	o.SetLines("again.jsonl", lines)
}

// Unsign empties selection.txt, which contains the bundle's signed statement.
func (o *Opened) Unsign() { o.Files["selection.txt"] = "" }

// Downgrade changes the bundle to version 1, which has no signed statement.
func (o *Opened) Downgrade() {
	o.tb.Helper()
	o.Names = slices.DeleteFunc(o.Names, func(name string) bool { return name == "selection.txt" })
	o.EditAbout(func(a map[string]any) {
		a["format"] = "hooktrail/bundle/v1"
		delete(a, "seals")
		delete(a, "gaps")
		delete(a, "window")
	})
}

// Resign updates the counts and hashes in the bundle's signed statement, and signs the statement
// with the given key, such as a key of an attacker.
func (o *Opened) Resign(signer note.Signer) {
	o.tb.Helper()
	text, _, ok := strings.Cut(o.Files["selection.txt"], "\n\n")
	if !ok {
		o.tb.Fatal("the bundle has no statement")
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		name, _, _ := strings.Cut(line, " ")
		switch name {
		case "leaves", "again":
			lines[i] = fmt.Sprintf("%s %d %s", name, len(o.Lines(name+".jsonl")), o.sum(name+".jsonl"))
		case "checkpoint":
			lines[i] = name + " " + o.sum("checkpoint.txt")
		case "bundle":
			lines[i] = name + " " + o.sum("bundle.json")
		case "page":
			lines[i] = name + " " + o.sum("index.html")
		}
	}
	signed, err := note.Sign(&note.Note{Text: strings.Join(lines, "\n") + "\n"}, signer)
	if err != nil {
		o.tb.Fatal(err)
	}
	o.Files["selection.txt"] = string(signed)
}
