// Package cursor stores how many records of an outbox the stream has acknowledged. Each line of
// the file is a change with a checksum, so that a line that was only partly written is ignored.
// The file may be older than the stream. The forwarder therefore compares it with the stream.
package cursor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
)

// Cursor stores how far the stream has acknowledged the records of one producer. It is not safe
// for concurrent use.
type Cursor struct {
	Next uint64 // ordinal of the first unacknowledged record
	Runs *Runs

	path   string
	chains map[string]*Chain
	dirty  map[string]*Chain

	file    *os.File
	size    int64 // of the file
	compact int64 // size at which a new file replaces it
	stale   bool  // the file lacks a change
}

// Chain describes how far the stream has acknowledged a producer's events for one tenant. The name
// refers to the manifests of the producer, each of which contains the hash of the previous one.
type Chain struct {
	Last  uint64         `json:"last"`            // last settled number
	Prev  string         `json:"prev,omitempty"`  // hash of the last manifest
	Fence uint64         `json:"fence,omitempty"` // stream sequence of the last manifest
	Owed  []events.Range `json:"owed,omitempty"`  // refused numbers without a gap.recorded event yet
	Known bool           `json:"-"`               // Fence is from the stream
	// Signed means that the last manifest has a signature. All later manifests then need one.
	Signed bool `json:"signed,omitempty"`
	// Key is the key that signs the next manifest. Before the first key change, Key is empty.
	Key string `json:"key,omitempty"`
	// Issuer and Endorsement are from the last grant in the chain. Endorsement is the hash of the
	// endorsement.
	Issuer      string `json:"issuer,omitempty"`
	Endorsement string `json:"endorsement,omitempty"`

	// State and Beat are from the last manifest. HeardAt is when that manifest was acknowledged,
	// and ActiveAt is when the last manifest with events was. Both are in milliseconds since 1970.
	State    events.State `json:"state,omitempty"`
	Beat     uint64       `json:"beat,omitempty"`
	HeardAt  int64        `json:"heard,omitempty"`
	ActiveAt int64        `json:"active,omitempty"`
}

// Heard returns the time when the stream acknowledged the last manifest.
func (c Chain) Heard() time.Time { return time.UnixMilli(c.HeardAt) }

// Active returns when the stream acknowledged the producer's last manifest that lists events.
// Heartbeats do not list events.
func (c Chain) Active() time.Time { return time.UnixMilli(c.ActiveAt) }

// Announced updates the chain after the stream has acknowledged the manifest m. now is the time of
// the acknowledgement.
func (c *Chain) Announced(m events.Manifest, now time.Time) {
	c.State, c.Beat, c.HeardAt = m.State, m.Beat, now.UnixMilli()
	if m.Count > 0 {
		c.ActiveAt = c.HeardAt
	}
}

// Begun reports whether the stream has at least one manifest of this producer for the tenant.
func (c *Chain) Begun() bool { return c.Prev != "" }

type change struct {
	Next   uint64                       `json:"next"`
	Chains map[string]*Chain            `json:"chains,omitempty"`
	Runs   map[string]map[string]*Tally `json:"runs,omitempty"`
}

const minCompact = 256 << 10

// Open reads the cursor in dir. Without a file, no event is acknowledged.
func Open(dir string) (*Cursor, error) {
	c := New(dir, map[RunKey]*Tally{})
	data, err := os.ReadFile(c.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read cursor: %w", err)
	}
	for line := range bytes.Lines(data) {
		ch, ok := parseChange(line)
		if !ok {
			break // later lines are useless without this one
		}
		c.apply(ch)
	}
	return c, nil
}

// New returns a cursor of an outbox without acknowledged events. runs are the event counts with
// which the cursor starts.
func New(dir string, runs map[RunKey]*Tally) *Cursor {
	return &Cursor{
		path: filepath.Join(dir, "cursor"), Next: 1, chains: map[string]*Chain{},
		Runs:  &Runs{memory: runs, idle: openIdle(dir)},
		stale: true,
	}
}

func parseChange(line []byte) (ch change, ok bool) {
	sum, text, ok := bytes.Cut(line, []byte(" "))
	if !ok || !bytes.HasSuffix(text, []byte("\n")) {
		return ch, false
	}
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || uint64(disk.Checksum(text)) != want {
		return ch, false
	}
	return ch, json.Unmarshal(text, &ch) == nil
}

func encodeChange(ch change) ([]byte, error) {
	text, err := json.Marshal(ch)
	if err != nil {
		return nil, fmt.Errorf("encode cursor: %w", err)
	}
	text = append(text, '\n')
	return append(fmt.Appendf(nil, "%08x ", disk.Checksum(text)), text...), nil
}

func (c *Cursor) apply(ch change) {
	c.Next = ch.Next
	maps.Copy(c.chains, ch.Chains)
	for tenant, runs := range ch.Runs {
		for run, t := range runs {
			c.Runs.memory[RunKey{tenant, run}] = t
		}
	}
}

// Chain returns the state of one tenant's manifests. After the caller has changed it,
// [Cursor.Touch] must be called so that the change is saved.
func (c *Cursor) Chain(tenant string) *Chain {
	ch := c.chains[tenant]
	if ch == nil {
		ch = &Chain{}
		c.chains[tenant] = ch
	}
	return ch
}

// Chains returns the state of the manifests of each tenant, by tenant.
func (c *Cursor) Chains() map[string]*Chain { return c.chains }

// Touch marks the chain of a tenant as changed, so that [Cursor.Save] writes it.
func (c *Cursor) Touch(tenant string) {
	if c.dirty == nil {
		c.dirty = map[string]*Chain{}
	}
	c.dirty[tenant] = c.chains[tenant]
}

// Save writes the changes since the last save.
func (c *Cursor) Save() error {
	line, err := encodeChange(change{Next: c.Next, Chains: c.dirty, Runs: c.Runs.dirty})
	if err != nil {
		return err
	}
	if c.stale || c.size+int64(len(line)) > c.compact {
		return c.Rewrite()
	}
	if _, err := c.file.Write(line); err != nil {
		c.stale = true
		return fmt.Errorf("write cursor: %w", disk.MarkNoSpace(err))
	}
	c.size += int64(len(line))
	c.dirty, c.Runs.dirty = nil, nil
	return nil
}

// Rewrite replaces the file with a new file that has one line.
func (c *Cursor) Rewrite() error {
	line, err := encodeChange(change{Next: c.Next, Chains: c.chains, Runs: byTenant(c.Runs.memory)})
	if err != nil {
		return err
	}
	if err := disk.Replace(c.path, line); err != nil {
		return fmt.Errorf("write cursor: %w", disk.MarkNoSpace(err))
	}
	f, err := os.OpenFile(c.path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("write cursor: %w", err)
	}
	if c.file != nil {
		_ = c.file.Close()
	}
	c.file, c.size, c.compact = f, int64(len(line)), max(minCompact, 4*int64(len(line)))
	c.stale, c.dirty, c.Runs.dirty = false, nil, nil
	return nil
}

// RetireRuns moves the longest idle runs to disk if more than limit are in memory.
func (c *Cursor) RetireRuns(limit int, keep func(RunKey) bool) error {
	if len(c.Runs.memory) <= limit || c.stale || c.Runs.dirty != nil {
		return nil
	}
	return c.Runs.retire(keep)
}

// Sync syncs the saved changes to disk.
func (c *Cursor) Sync() error {
	if c.file == nil {
		return nil
	}
	return disk.Sync(c.file)
}

// Close syncs and closes the files.
func (c *Cursor) Close() error {
	err := c.Runs.idle.close()
	if c.file != nil {
		err = errors.Join(err, c.Sync(), c.file.Close())
		c.file, c.stale = nil, true
	}
	return err
}
