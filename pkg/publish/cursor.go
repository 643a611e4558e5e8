package publish

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// cursor is how far the stream has acknowledged an outbox. Its file is a list
// of changes, one line each with a checksum in front; a line counts whole or
// not at all, and a new file with one line replaces it when it has grown. A
// cursor that is behind is no harm: the forwarder compares it with the stream.
type cursor struct {
	path string

	mu     sync.Mutex // guards what follows
	next   uint64     // ordinal of the first record that is not acknowledged
	chains map[string]*chain
	runs   map[runKey]*tally
	idle   idleRuns // those that are not in runs

	file    *os.File
	size    int64 // of the file
	compact int64 // size at which a new file is due
	stale   bool  // the file lacks a change that could not be written
	dirty   change
}

// chain is what was acknowledged of one tenant.
type chain struct {
	Last  uint64         `json:"last"`            // number up to which everything is settled
	Prev  string         `json:"prev,omitempty"`  // hash of the last manifest
	Fence uint64         `json:"fence,omitempty"` // its stream sequence
	Owed  []events.Range `json:"owed,omitempty"`  // refused events without their gap.recorded yet
	known bool           // Fence was read from the stream, or is ours, in this process
}

type runKey struct{ tenant, run string }

// tally is what was acknowledged of one run.
type tally struct {
	Count    uint64 `json:"count"`
	First    uint64 `json:"first"`
	Last     uint64 `json:"last"`
	Digest   digest `json:"digest"` // as events.RunSealedData has it
	Finished bool   `json:"finished,omitempty"`
	Sealed   uint64 `json:"sealed,omitempty"` // Count at the last seal
	Lost     bool   `json:"lost,omitempty"`   // what was counted before cannot be read: never sealed
	heard    uint64 // ordinal of the last record read when it was touched
}

// digest is a hash that is written in hex.
type digest events.Hash

// MarshalText returns d in hex.
func (d digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *digest) UnmarshalText(text []byte) error {
	h, err := events.ParseHash(string(text))
	*d = digest(h)
	return err
}

// change is a line of the file: what became different.
type change struct {
	Next   uint64                       `json:"next"`
	Chains map[string]*chain            `json:"chains,omitempty"`
	Runs   map[string]map[string]*tally `json:"runs,omitempty"`
}

const minCompact = 256 << 10

// openCursor reads the cursor of dir, or begins one.
func openCursor(dir string) (*cursor, error) {
	c := &cursor{
		path: filepath.Join(dir, "cursor"), next: 1,
		chains: map[string]*chain{}, runs: map[runKey]*tally{}, idle: openIdleRuns(dir),
	}
	data, err := os.ReadFile(c.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read cursor: %w", err)
	}
	for line := range bytes.Lines(data) {
		ch, ok := parseChange(line)
		if !ok {
			break // cut off or damaged: what follows is of no use without it
		}
		c.apply(ch)
	}
	c.stale = true // the first save writes a new file
	return c, nil
}

// reset makes c the cursor of a new outbox in dir, of which nothing is
// acknowledged. c.mu is held.
func (c *cursor) reset(dir string, runs map[runKey]*tally) {
	if c.file != nil {
		_ = c.file.Close() // on its way out
		c.file = nil
	}
	c.path, c.next, c.idle = filepath.Join(dir, "cursor"), 1, openIdleRuns(dir)
	c.chains, c.runs = map[string]*chain{}, runs
	c.dirty, c.stale = change{}, true
}

// parseChange reads one line: eight hex digits, a space, JSON, a newline.
func parseChange(line []byte) (ch change, ok bool) {
	sum, text, ok := bytes.Cut(line, []byte(" "))
	if !ok || !bytes.HasSuffix(text, []byte("\n")) {
		return ch, false
	}
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || uint64(checksum(text)) != want {
		return ch, false
	}
	return ch, json.Unmarshal(text, &ch) == nil
}

func (c *cursor) apply(ch change) {
	c.next = ch.Next
	maps.Copy(c.chains, ch.Chains)
	for tenant, runs := range ch.Runs {
		for run, t := range runs {
			c.runs[runKey{tenant, run}] = t
		}
	}
}

// chain returns the chain of tenant. c.mu is held.
func (c *cursor) chain(tenant string) *chain {
	ch := c.chains[tenant]
	if ch == nil {
		ch = &chain{}
		c.chains[tenant] = ch
	}
	return ch
}

// touchChain notes that the chain of tenant has changed. c.mu is held.
func (c *cursor) touchChain(tenant string) {
	if c.dirty.Chains == nil {
		c.dirty.Chains = map[string]*chain{}
	}
	c.dirty.Chains[tenant] = c.chains[tenant]
}

// touchRun notes that the tally of a run has changed. c.mu is held.
func (c *cursor) touchRun(key runKey) {
	c.dirty.run(key, c.runs[key])
}

func (ch *change) run(key runKey, t *tally) {
	if ch.Runs == nil {
		ch.Runs = map[string]map[string]*tally{}
	}
	if ch.Runs[key.tenant] == nil {
		ch.Runs[key.tenant] = map[string]*tally{}
	}
	ch.Runs[key.tenant][key.run] = t
}

// save writes what has changed. c.mu is held.
func (c *cursor) save() error {
	c.dirty.Next = c.next
	line, err := encodeChange(c.dirty)
	if err != nil {
		return err
	}
	if c.stale || c.size+int64(len(line)) > c.compact {
		return c.rewrite()
	}
	if _, err := c.file.Write(line); err != nil {
		c.stale = true
		return fmt.Errorf("write cursor: %w", asNoRoom(err))
	}
	c.size += int64(len(line))
	c.dirty = change{}
	return nil
}

// rewrite replaces the file by one with a single line.
func (c *cursor) rewrite() error {
	all := change{Next: c.next, Chains: c.chains}
	for key, t := range c.runs {
		all.run(key, t)
	}
	line, err := encodeChange(all)
	if err != nil {
		return err
	}
	if err := replaceFile(c.path, line); err != nil {
		return fmt.Errorf("write cursor: %w", asNoRoom(err))
	}
	f, err := os.OpenFile(c.path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("write cursor: %w", err)
	}
	if c.file != nil {
		_ = c.file.Close() // replaced
	}
	c.file, c.size, c.compact = f, int64(len(line)), max(minCompact, 4*int64(len(line)))
	c.stale, c.dirty = false, change{}
	return nil
}

func encodeChange(ch change) ([]byte, error) {
	text, err := json.Marshal(ch)
	if err != nil {
		return nil, fmt.Errorf("encode cursor: %w", err)
	}
	text = append(text, '\n')
	return append(fmt.Appendf(nil, "%08x ", checksum(text)), text...), nil
}

// sync puts what was saved on disk. c.mu is held.
func (c *cursor) sync() error {
	if c.file == nil {
		return nil
	}
	return syncData(c.file)
}

// close syncs and closes the files.
func (c *cursor) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.idle.close()
	if c.file != nil {
		err = errors.Join(err, c.sync(), c.file.Close())
		c.file, c.stale = nil, true
	}
	return err
}
