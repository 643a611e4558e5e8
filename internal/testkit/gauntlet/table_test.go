package gauntlet

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
)

// trials is the number of trials of each attack. With -update it is trialsOfTable.
var trials = race.Size(10, 2)

var update = flag.Bool("update", false, "write the table of attacks into docs/guarantees.md")

const trialsOfTable = 50

// counts matches the last column of the table, which says how many trials -update made.
var counts = regexp.MustCompile(`(?m)\d+ of \d+ \|$`)

const (
	tableBegins = "<!-- written by: go test ./internal/testkit/gauntlet -update -->\n"
	tableEnds   = "<!-- to here -->\n"
)

// possessions are the kinds of access in the order of the table.
var possessions = []string{"the file", "the file, the key", "the data directory", "the data directory, the key", "a bundle", "the stream", "an engine's key", "no credentials", "a producer", "authority", "nothing"}

func (g *gauntlet) publish(t *testing.T) {
	t.Helper()
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") || race.Enabled || g.partial || t.Failed() {
		return // not all ran or passed
	}
	path := filepath.Join("..", "..", "..", "docs", "guarantees.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), tableBegins)
	have, behind, ok2 := strings.Cut(rest, tableEnds)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", path)
	}
	want := g.table()
	if *update {
		if err := os.WriteFile(path, []byte(before+tableBegins+want+tableEnds+behind), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(counts.ReplaceAllString(have, ""), counts.ReplaceAllString(want, "")); diff != "" {
		t.Errorf("docs/guarantees.md: run go test ./internal/testkit/gauntlet -update (-have +want):\n%s", diff)
	}
}

func (g *gauntlet) table() string {
	slices.SortFunc(g.attacks, func(a, b *attack) int {
		return cmp.Or(cmp.Compare(slices.Index(possessions, a.has), slices.Index(possessions, b.has)), cmp.Compare(a.name, b.name))
	})
	var b strings.Builder
	b.WriteString("| attack | the attacker has | `auditor verify` says | with a checkpoint kept elsewhere | and names | right verdicts |\n")
	b.WriteString("|---|---|---|---|---|---|\n")
	for _, a := range g.attacks {
		kept := a.kept
		if kept == "" || kept == a.alone {
			kept = "the same"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d of %d |\n",
			a.what, a.has, a.alone, kept, cmp.Or(a.seen, "–"), a.found, a.tried)
	}
	return b.String()
}
