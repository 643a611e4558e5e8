package publisher

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// contents remembers the contents of imported events, so that an import notices a transcript that
// was changed. The file "contents" of the outbox has one entry per id and content. Another version
// of Hooktrail may derive other content from the same transcript, so it has entries of its own. The
// content is hashed before redaction, whose rules can change, with the secret of the data directory.
// The lock of the outbox guards the file.
type contents struct {
	file     *os.File
	size     int64
	key      []byte
	version  string
	original map[uint64]uint64      // the first content by id
	other    map[[2]uint64]struct{} // further contents
}

const (
	contentsName = "contents"
	contentEntry = 16
)

func openContents(dir, version string, key []byte) (*contents, error) {
	f, err := os.OpenFile(filepath.Join(dir, contentsName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open contents of imported events: %w", err)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read contents of imported events: %w", err), f.Close())
	}
	c := &contents{file: f, key: key, version: version, original: map[uint64]uint64{}, other: map[[2]uint64]struct{}{}}
	for ; len(data) >= contentEntry; data = data[contentEntry:] {
		c.remember(binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:]))
		c.size += contentEntry
	}
	return c, nil
}

func openImport(ctx context.Context, opts ImportOptions, key []byte) (*publish.Publisher, *contents, error) {
	p, err := openOutbox(ctx, opts.Broker, opts.DataDir,
		publish.Options{Name: "import", Tenant: opts.Tenant, Unique: true, Redactor: opts.Redactor, Full: publish.Block, LockWait: lockWait}, opts.Logger)
	if err != nil {
		return nil, nil, err
	}
	dir := outboxDir(opts.DataDir, "import")
	seen, err := openContents(dir, opts.version, key)
	if err != nil {
		return nil, nil, errors.Join(err, closeOutbox(ctx, p, dir))
	}
	return p, seen, nil
}

func (c *contents) remember(id, content uint64) {
	if _, ok := c.original[id]; ok {
		c.other[[2]uint64{id, content}] = struct{}{}
		return
	}
	c.original[id] = content
}

func (c *contents) changed(id, content uint64) bool {
	first, isKnown := c.original[id]
	_, isOther := c.other[[2]uint64{id, content}]
	return isKnown && first != content && !isOther
}

func (c *contents) add(id, content uint64) error {
	_, isKnown := c.original[id]
	if isKnown && !c.changed(id, content) {
		return nil
	}
	entry := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, id), content)
	if _, err := c.file.WriteAt(entry, c.size); err != nil {
		return fmt.Errorf("write contents of imported events: %w", err)
	}
	c.size += contentEntry
	c.remember(id, content)
	return nil
}

func (c *contents) close() error { return c.file.Close() }

func (c *contents) sums(format *format, e events.Event) (id, content uint64, ok bool) {
	if !format.compares(e.Kind()) {
		return 0, 0, false
	}
	data := e.Data
	if format.name != ingest.CloudEventsFormat {
		data = withoutTimes(data)
	}
	id = c.sum(c.version, e.Tenant, e.Source, e.ID)
	return id, c.sum(e.Type, e.Run, string(data), string(e.Binary)), true
}

func (c *contents) sum(parts ...string) uint64 {
	h := hmac.New(sha256.New, c.key)
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return binary.LittleEndian.Uint64(h.Sum(nil))
}

func withoutTimes(data []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return data
	}
	delete(members, "untimed")
	delete(members, "duration_ms")
	text, err := json.Marshal(members)
	if err != nil {
		return data // unreachable: the members were decoded before
	}
	return text
}

// compares returns false for kinds of events whose content can change while a file grows or when an
// agent rewrites it.
func (f *format) compares(kind events.Kind) bool {
	if f.name == ingest.CloudEventsFormat {
		return true
	}
	switch kind { //nolint:exhaustive // other events are compared if lines are only added
	case events.RunStarted, events.RunFinished, events.StepFinished, events.ResponseCompleted, events.MessageUpdated:
		return false
	case events.PromptSubmit, events.ToolResult, events.Approval:
		return f.name != hookLogFormat
	}
	return f.isAppended()
}

// errChanged means that the event was stored, but an earlier import stored it with other content.
var errChanged = errors.New("event has other content than at an earlier import")

type republisher interface {
	sink
	AppendChanged(ctx context.Context, e events.Event) (events.Event, error)
}

type comparing struct {
	to       republisher
	contents *contents
	format   *format
}

// Append stores an event. It returns [errChanged] if an earlier import stored the event with other
// content.
func (c comparing) Append(ctx context.Context, e events.Event) (events.Event, error) {
	stored, err := c.to.Append(ctx, e)
	id, content, ok := c.contents.sums(c.format, e)
	isKnown := errors.Is(err, publish.ErrDuplicate)
	if !ok || err != nil && !isKnown {
		return stored, err
	}
	changed := isKnown && c.contents.changed(id, content)
	if changed {
		if stored, err = c.to.AppendChanged(ctx, e); err != nil {
			return stored, err
		}
		err = errChanged
	}
	if failed := c.contents.add(id, content); failed != nil {
		return stored, failed
	}
	return stored, err
}
