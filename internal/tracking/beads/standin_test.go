package beads_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

// The stand-in for the Beads CLI is this test binary. An environment variable names a file with its
// orders, which are words that select a misbehaviour. It keeps its issues in a file in BEADS_DIR
// with a lock. Like bd, it matches ids by substring, overwrites issues on import and has no
// deadlines.
const ordersVariable = "HOOKTRAIL_TEST_STANDIN"

func TestMain(m *testing.M) {
	if orders := os.Getenv(ordersVariable); orders != "" {
		os.Exit(standIn(orders, os.Args[1:]))
	}
	os.Exit(m.Run())
}

const (
	orderHang     = "hang"     // wait without end
	orderDeaf     = "deaf"     // ignore signals, too
	orderLie      = "lie"      // claim success, and store nothing
	orderTruncate = "truncate" // print half of the answer
	orderForget   = "forget"   // answer as if there were no issues, without saying so
	orderOther    = "other"
	orderOld      = "old"
	orderFirst    = "first"     // be the first supported version, whose show has comments
	orderSubstr   = "substring" // match ids by substring even if one is equal
	orderNothing  = "nothing"   // succeed with exit status 1: nothing to commit
	orderFail     = "fail"
	orderBusy     = "busy" // report a locked database
	orderBefore   = "die-before"
	orderAfter    = "die-after"
	orderRandom   = "die-at-random"  // be killed at a random point, or not
	orderHangLate = "hang-when-done" // store, and wait without end
	orderHalf     = "die-in-init"
	orderReject   = "reject-poisoned" // refuse issues with poison in the title
)

type cli struct {
	orders, dir string
	args        []string
	flags       map[string][]string
	state       map[string]map[string]any
}

func standIn(orders string, args []string) int {
	text, _ := os.ReadFile(orders)
	c := &cli{orders: strings.TrimSpace(string(text)), dir: os.Getenv("BEADS_DIR"), flags: make(map[string][]string)}
	if f, err := os.OpenFile(orders+".calls", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintln(f, args[0])
		_ = f.Close()
	}
	if own, err := os.ReadFile(filepath.Join(c.dir, "orders")); err == nil { // of this workspace
		c.orders = strings.TrimSpace(string(own))
	}
	values := []string{"file", "id", "title", "description", "add-label", "author", "reason", "assignee", "status", "prefix"}
	literal := false
	for n := 0; n < len(args); n++ {
		name, isFlag := strings.CutPrefix(args[n], "--")
		switch {
		case args[n] == "--" && !literal:
			literal = true
		case literal || !isFlag:
			c.args = append(c.args, args[n])
		default:
			name, value, has := strings.Cut(name, "=")
			if !has && slices.Contains(values, name) && n+1 < len(args) {
				n++
				value = args[n]
			}
			c.flags[name] = append(c.flags[name], value)
		}
	}
	return c.run()
}

func (c *cli) is(order string) bool { return c.orders == order }

func (c *cli) run() int {
	switch {
	case c.is(orderOther):
		fmt.Println("usage: bd [n] - go back to a parent directory")
		return 0
	case c.args[0] == "version" && c.is(orderOld):
		fmt.Println(`{"version":"0.49.6","build":"dev"}`)
		return 0
	case c.args[0] == "version" && c.is(orderFirst):
		return c.answer(map[string]any{"version": "1.0.3", "build": "stand-in"})
	case c.flags["include-comments"] != nil && c.is(orderFirst):
		fmt.Fprintln(os.Stderr, "Error: unknown flag: --include-comments")
		return 1
	case c.args[0] == "version":
		return c.answer(map[string]any{"version": "1.0.5", "build": "stand-in"})
	case c.is(orderDeaf), c.is(orderHang):
		_ = os.WriteFile(filepath.Join(c.dir, "self"), []byte(strconv.Itoa(os.Getpid())), 0o600)
		if c.is(orderDeaf) {
			ignoreTerm()
			startChild(c.dir)
		}
		time.Sleep(time.Hour)
	case c.args[0] == "init":
		return c.init()
	}
	if _, err := os.Stat(filepath.Join(c.dir, "metadata.json")); err != nil {
		fmt.Fprintln(os.Stderr, "Error: no beads database found")
		return 1
	}
	lock, err := filelock.Wait(backgroundForTheStandIn(), filepath.Join(c.dir, "lock"), func() {})
	if err != nil {
		return 3
	}
	defer func() { _ = lock.Unlock() }()
	data, err := os.ReadFile(filepath.Join(c.dir, "state.json"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 3
	}
	c.state = make(map[string]map[string]any)
	if len(data) > 0 {
		if err := json.Unmarshal(data, &c.state); err != nil {
			fmt.Fprintln(os.Stderr, "state:", err)
			return 3
		}
	}
	switch c.args[0] {
	case "show":
		return c.show()
	case "export":
		return c.export()
	}
	return c.change()
}

func (c *cli) init() int {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return 1
	}
	half := filepath.Join(c.dir, "half") // init cannot repair an unfinished folder
	if _, err := os.Stat(half); err == nil {
		fmt.Fprintln(os.Stderr, "Error: failed to open Dolt store: pending schema migrations alter pre-existing dirty tables")
		return 1
	}
	if err := os.WriteFile(half, nil, 0o600); err != nil {
		return 1
	}
	if c.is(orderHalf) {
		c.die()
	}
	if err := errors.Join(os.WriteFile(filepath.Join(c.dir, "metadata.json"), []byte("{}"), 0o600), os.Remove(half)); err != nil {
		return 1
	}
	return 0
}

func (c *cli) change() int {
	if c.is(orderBusy) {
		fmt.Fprintln(os.Stderr, `{"schema_version":1,"data":{"error":"failed to open database: locked by another process"}}`)
		return 1
	}
	if c.is(orderFail) {
		fmt.Fprintln(os.Stderr, `{"schema_version":1,"data":{"error":"validation failed"}}`)
		return 1
	}
	did, err := c.apply()
	if err != nil && c.args[0] == "import" { // bd prints its usage
		fmt.Fprintf(os.Stderr, "Error: %v\nUsage:\n  bd import [file|-] [flags]\n\n      --readonly   Read-only mode: block write operations\n", err)
		return 1
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "{\"schema_version\":1,\"data\":{\"error\":%q}}\n", err.Error())
		return 1
	}
	fate := -1
	if c.is(orderRandom) {
		fate = rand.IntN(4)
	}
	if c.is(orderBefore) || fate == 0 {
		c.die()
	}
	if fate == 1 { // killed while writing
		_ = os.WriteFile(filepath.Join(c.dir, "state.tmp"), []byte(`{"half":`), 0o600)
		c.die()
	}
	if !c.is(orderLie) {
		if err := c.save(); err != nil {
			return 3
		}
	}
	if c.is(orderAfter) || fate == 2 {
		c.die()
	}
	if c.is(orderHangLate) {
		time.Sleep(time.Hour)
	}
	if c.is(orderNothing) {
		fmt.Fprintln(os.Stderr, "Error: commit: nothing to commit")
		return 1
	}
	return c.answer(did)
}

func (c *cli) save() error {
	data, err := json.Marshal(c.state)
	if err != nil {
		return err
	}
	next := filepath.Join(c.dir, "state.tmp")
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(c.dir, "state.json"))
}

func (c *cli) die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	time.Sleep(time.Hour)
}

func (c *cli) answer(v any) int {
	data, err := json.MarshalIndent(map[string]any{"schema_version": 1, "data": v}, "", "  ")
	if err != nil {
		return 3
	}
	if c.is(orderTruncate) && c.args[0] != "version" {
		data = data[:len(data)/2]
	}
	return say(append(data, '\n'))
}

func (c *cli) resolve(id string) (string, error) {
	if _, ok := c.state[id]; ok && !c.is(orderSubstr) {
		return id, nil
	}
	_, digits, _ := strings.Cut(id, "-")
	var matches []string
	for _, other := range slices.Sorted(maps.Keys(c.state)) {
		if strings.Contains(other, digits) && (other != id || !c.is(orderSubstr)) {
			matches = append(matches, other)
		}
	}
	switch len(matches) {
	case 0:
		return "", fmt.Errorf("no issue found matching %q", id)
	case 1:
		return matches[0], nil
	}
	return "", fmt.Errorf("ambiguous ID %q matches %d issues: %v\nUse more characters to disambiguate", id, len(matches), matches)
}

// atOnce is the number of issues that bd handles before its deadline on a busy machine.
const atOnce = 20

func (c *cli) show() int {
	if len(c.flags["id"]) > atOnce {
		time.Sleep(time.Hour)
	}
	var list []any
	for _, id := range slices.Concat(c.flags["id"], c.args[1:]) {
		if c.is(orderForget) {
			continue
		}
		found, err := c.resolve(id)
		if err != nil {
			fmt.Fprintf(os.Stderr, "Error fetching %s: %v\n", id, err)
			continue
		}
		issue := maps.Clone(c.state[found])
		var depends []any
		for _, d := range asList(issue["dependencies"]) {
			target := maps.Clone(c.state[fmt.Sprint(d["depends_on_id"])])
			target["dependency_type"] = d["type"]
			depends = append(depends, target)
		}
		delete(issue, "dependencies")
		if depends != nil {
			issue["dependencies"] = depends
		}
		issue["dependent_count"], issue["comment_count"] = 0, len(anyList(issue["comments"]))
		if c.flags["include-comments"] == nil && !c.is(orderFirst) {
			delete(issue, "comments")
		}
		list = append(list, issue)
	}
	if list == nil && !c.is(orderForget) {
		c.answer(map[string]any{"error": "no issues found matching the provided IDs"})
		return 1
	}
	if list == nil {
		list = []any{}
	}
	return c.answer(list)
}

func (c *cli) export() int {
	var out []byte
	for _, id := range slices.Sorted(maps.Keys(c.state)) {
		record := maps.Clone(c.state[id])
		record["_type"] = "issue"
		line, err := json.Marshal(record)
		if err != nil {
			return 3
		}
		out = append(append(out, line...), '\n')
	}
	if c.is(orderTruncate) {
		out = out[:len(out)/2]
	}
	return say(out)
}

func asList(v any) (list []map[string]any) {
	all, _ := v.([]any)
	for _, e := range all {
		if m, ok := e.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}

func (c *cli) file() ([]string, error) {
	path := c.args[len(c.args)-1]
	if f := c.flags["file"]; f != nil {
		path = f[0]
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []string
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines, nil
}

func say(text []byte) int {
	if _, err := os.Stdout.Write(text); err != nil {
		return 3
	}
	return 0
}
