package outbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/journal"
)

// JournalDir returns the folder of the outbox journals in a data directory.
func JournalDir(dataDir string) string { return filepath.Join(dataDir, "producers") }

// Missing is a producer whose outbox is gone and was not closed, so events may be lost.
type Missing struct {
	Outbox   string // name of the outbox in the data directory
	Producer string
	Key      string
	First    time.Time         // time when the outbox was first opened
	Last     map[string]uint64 // last known number by tenant, 0 if unknown
	Recorded bool              // [RecordLost] has recorded the loss as producer.lost
	Damaged  bool              // the outbox exists but cannot be read. It may be repairable
}

// MissingOutboxes returns the producers in a data directory whose outbox folder is gone, was
// replaced, or is damaged.
func MissingOutboxes(dataDir string) (list []Missing, err error) {
	files, err := os.ReadDir(JournalDir(dataDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list journals of outboxes: %w", err)
	}
	err = nil
	for _, file := range files {
		if name, ok := strings.CutSuffix(file.Name(), journal.Suffix); ok {
			missing, failed := missingOf(dataDir, name)
			list, err = append(list, missing...), errors.Join(err, failed)
		}
	}
	return list, err
}

func missingOf(dataDir, name string) (list []Missing, err error) {
	dir := filepath.Join(dataDir, "outbox", name)
	for {
		before, unread := presentProducer(dir)
		records, err := journal.At(JournalDir(dataDir), name).Read()
		if err != nil || errors.Is(unread, os.ErrPermission) {
			return nil, errors.Join(err, unread)
		}
		if after, _ := presentProducer(dir); after != before {
			continue
		}
		for _, r := range journal.Missing(records, before) {
			list = append(list, Missing{
				Outbox: name, Producer: r.Producer, Key: r.Key, First: r.Time, Last: r.Last, Recorded: r.State == journal.Lost, Damaged: unread != nil,
			})
		}
		return list, unread
	}
}

func presentProducer(dir string) (string, error) {
	id, err := readIdentity(dir)
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return id.Producer, err
	}
	folders, err := recordFolders(dir)
	if len(folders) != 1 || err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return "", err
	}
	return subjects.ParseToken(filepath.Base(folders[0])) // Open would continue with this id
}

// RecordLost records and returns the producers that [MissingOutboxes] finds. It appends
// producer.lost events to the shared outbox in dir. Concurrent calls record each producer only
// once.
func RecordLost(ctx context.Context, dataDir, dir string, opts SharedOptions) (lost []Missing, err error) {
	if list, err := unrecorded(dataDir); len(list) == 0 {
		return nil, err
	}
	lock, err := disk.Lock(ctx, filepath.Join(JournalDir(dataDir), "lock"))
	if err != nil {
		return nil, fmt.Errorf("record lost producers: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	list, err := unrecorded(dataDir)
	for _, m := range list {
		if failed := recordLost(ctx, dataDir, dir, opts, m); failed != nil {
			err = errors.Join(err, fmt.Errorf("record lost producer %s: %w", m.Producer, failed))
			continue
		}
		lost = append(lost, m)
	}
	return lost, err
}

func unrecorded(dataDir string) ([]Missing, error) {
	list, err := MissingOutboxes(dataDir)
	return slices.DeleteFunc(list, func(m Missing) bool { return m.Recorded || m.Damaged }), err
}

// recordLost appends the events before the journal entry. If a crash comes in between, the events
// are appended again with the same ids.
func recordLost(ctx context.Context, dataDir, dir string, opts SharedOptions, m Missing) error {
	for tenant, last := range m.Last {
		d := events.ProducerLostData{Producer: m.Producer, Outbox: m.Outbox, Last: last, Key: m.Key}
		e, err := events.New(events.ProducerLost, source, d)
		if err != nil {
			return err
		}
		e.ID, e.Tenant = events.DeriveID("lost", tenant, m.Producer, strconv.FormatUint(last, 10)), tenant
		if _, err := AppendShared(ctx, dir, opts, e); err != nil {
			return err
		}
	}
	return journal.At(JournalDir(dataDir), m.Outbox).Add(journal.Record{Time: time.Now().UTC(), Producer: m.Producer, State: journal.Lost})
}

func (o Options) journal() journal.File { return journal.At(o.Journal, o.Dir) }

// The caller of note must hold o.mu, or be the only user of o.
func note(o *outbox, add func(journal.File, journal.Record) error, state journal.State, last map[string]uint64) {
	write(o, add, journal.Record{Producer: o.id.Producer, Key: o.id.Key, State: state, Last: last})
}

func write(o *outbox, add func(journal.File, journal.Record) error, r journal.Record) {
	r.Time = time.Now().UTC()
	if err := add(o.opts.journal(), r); err != nil {
		o.opts.Logger.Error("journal of outboxes not written, a loss of this outbox may stay unnoticed", "error", err)
	}
}

func lastUsed(next map[string]uint64) map[string]uint64 {
	last := make(map[string]uint64, len(next))
	for tenant, next := range next {
		last[tenant] = next - 1
	}
	return last
}

// noteFirst must run before the first write, so that a loss of the events is noticed. The caller
// must hold o.mu.
func noteFirst(o *outbox, tenant string) {
	_, known := o.numbers.next[tenant]
	isReopened := o.shared != nil && !o.shared.forwards && !o.id.Open && o.backlog.bytes == 0
	if o.opts.Journal != "" && (!known || isReopened) {
		note(o, journal.File.Add, journal.Open, map[string]uint64{tenant: o.numbers.nextOf(tenant) - 1})
	}
}

func noteEnd(ctx context.Context, o *outbox) {
	if o.opts.Journal == "" || o.begin(ctx) != nil {
		return
	}
	defer o.end()
	if o.backlog.records == 0 { // no other process has appended events
		note(o, journal.File.Add, journal.Closed, lastUsed(o.numbers.next))
	}
}

// noteMove must run before the first use of the new producer id. The caller must hold o.mu.
func noteMove(o *outbox, to identity, numbers map[string]uint64) {
	r := journal.Record{Producer: to.Producer, Key: to.Key, State: journal.Open, From: o.id.Producer, Last: lastUsed(numbers)}
	write(o, journal.File.Add, r)
}
