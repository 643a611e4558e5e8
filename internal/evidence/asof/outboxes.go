package asof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

type outboxes struct {
	tenant string
	list   []outbox
	sent   []sent
	err    error
}

type outbox struct {
	dir  string
	last uint64 // last unsent sequence of the tenant at the first inspect
	now  verifier.Waiting
	sent bool // a process is sending the events
}

func inspect(o Options) outboxes {
	all := outboxes{tenant: o.Tenant}
	if o.DataDir == "" {
		return all
	}
	folder := filepath.Join(o.DataDir, "outbox")
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		all.err = err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		box := outbox{dir: filepath.Join(folder, entry.Name())}
		s, err := box.inspect(o.Tenant)
		if err != nil {
			all.err = errors.Join(all.err, err)
		}
		all.noteSent(box, s)
		if box.counts() {
			all.list = append(all.list, box)
		}
	}
	all.spooled(filepath.Join(o.DataDir, spoolFolder))
	return all
}

func (b *outbox) counts() bool { return b.now.Events+b.now.Lost+b.now.Damaged > 0 }

func (b *outbox) inspect(tenant string) (publish.State, error) {
	name := filepath.Base(b.dir)
	s, err := publish.Inspect(b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return publish.State{}, nil // it is just being created
	}
	if err != nil {
		return publish.State{}, fmt.Errorf("outbox %s: %w", name, err)
	}
	waiting, numbers := s.Tenants[tenant], s.Numbers[tenant]
	switch {
	case b.last == 0:
		b.last = numbers.Last
	case numbers.First > b.last:
		waiting = 0
	case numbers.Last > b.last:
		waiting -= min(waiting, numbers.Last-b.last)
	}
	b.now = verifier.Waiting{
		Outbox: name, Events: waiting, Damaged: s.Damaged, Uses: b.dir == access.Outbox(filepath.Dir(filepath.Dir(b.dir))),
	}
	for _, g := range s.Gaps {
		if g.Tenant == tenant {
			b.now.Lost += g.Last - g.First + 1
		}
	}
	b.sent = s.Forwarding
	return s, nil
}

func (o *outboxes) await(ctx context.Context, deadline time.Time) {
	for i := range o.list {
		b := &o.list[i]
		for b.sent && b.counts() && pause(ctx, deadline) {
			if _, err := b.inspect(o.tenant); err != nil {
				o.err = errors.Join(o.err, err)
				break
			}
		}
	}
}

func (o *outboxes) waiting() (list []verifier.Waiting, unread string) {
	list = []verifier.Waiting{}
	for _, b := range o.list {
		if b.counts() {
			list = append(list, b.now)
		}
	}
	if o.err != nil {
		unread = o.err.Error()
	}
	return list, unread
}

func (o *outboxes) missing(dataDir string) (list []verifier.MissingOutbox) {
	if dataDir == "" {
		return nil
	}
	all, err := publish.MissingOutboxes(dataDir)
	if err != nil && (o.err == nil || !strings.Contains(o.err.Error(), err.Error())) { // inspect may name it already
		o.err = errors.Join(o.err, err)
	}
	isWaiting := slices.ContainsFunc(o.list, func(b outbox) bool { return b.now.Uses && b.counts() })
	for _, m := range all {
		if last, ok := m.Last[o.tenant]; ok && (!m.Recorded || isWaiting) {
			list = append(list, verifier.MissingOutbox{Outbox: m.Outbox, Producer: m.Producer, Last: last, Damaged: m.Damaged})
		}
	}
	return list
}

// spoolFolder contains hook events that could not be written to the outbox. The name must equal
// hookclient.SpoolDir.
const spoolFolder = "hook-spool"

func (o *outboxes) spooled(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.err = errors.Join(o.err, err)
	}
	w := verifier.Waiting{Outbox: spoolFolder}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".jsonl") || !entry.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			o.err = errors.Join(o.err, err)
		}
		for line := range bytes.Lines(text) {
			e, err := events.Decode(bytes.TrimSpace(line))
			switch {
			case err != nil:
				w.Damaged++
			case e.Tenant == o.tenant:
				w.Events++
			}
		}
	}
	if w.Events+w.Damaged > 0 {
		o.list = append(o.list, outbox{now: w})
	}
}
