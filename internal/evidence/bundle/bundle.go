package bundle

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// ErrNothing means that no record of the ledger matches the selection.
var ErrNothing = errors.New("the ledger has no records of that run and time")

// Options are the settings of [WriteBundle] and [WriteTable].
type Options struct {
	Selection ledger.Selection // only Run, From, To and Stored are used
	Key       string           // verifier key to include
	// Signer signs the bundle with the private half of Key. If Signer is nil, the bundle is
	// unsigned, and [Check] does not report it as complete.
	Signer note.Signer
	// Changes are the replacements of the ledger's signing key. The ledger may not have recorded
	// the latest ones yet.
	Changes  []ledger.KeyRotation
	Progress func(done, total int64)
}

// WriteBundle writes the selected records, up to the newest checkpoint, as a zip file. If no record
// matches, the error wraps [ErrNothing]. After an error, the output is not a valid bundle.
//
// With a signer, WriteBundle first verifies the whole ledger. If the ledger was changed after it
// was signed, WriteBundle writes nothing and returns [ErrInvalid]. If the signer does not have the
// ledger's current key, the error wraps [ErrOtherKey].
func WriteBundle(ctx context.Context, w io.Writer, r *ledger.Reader, opts Options) error {
	signed, c, err := r.Signed(ctx)
	if err != nil {
		return err
	}
	signed = ledger.Countersigned(signed, c.Tenant, opts.Changes)
	s := ledger.Selection{Run: opts.Selection.Run, From: opts.Selection.From, To: opts.Selection.To, Stored: opts.Selection.Stored}
	if s, err = r.WithManifests(ctx, s); err != nil {
		return err
	}
	s.Before = c.Size
	b := &bundle{zip: zip.NewWriter(w), reader: r, opts: opts, selection: s, newest: c, digests: make(map[string]events.Hash)}
	if opts.Signer != nil {
		if err := b.verify(ctx, signed); err != nil {
			return err
		}
	}
	b.done++
	if err := b.pending(ctx); err != nil {
		return err
	}
	if b.stamp, err = b.stamped(ctx); err != nil {
		return err
	}
	if err := b.count(ctx); err != nil {
		return err
	}
	if err := b.write(ctx, signed); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return nil
}

type bundle struct {
	zip       *zip.Writer
	reader    *ledger.Reader
	opts      Options
	selection ledger.Selection
	newest    ledger.Checkpoint
	about     About
	stamp     []byte // content of timestamp.txt; nil if there is none

	gaps      []span // ranges of leaves outside the bundle
	sums      bytes.Buffer
	digests   map[string]events.Hash // by file
	seenAgain int64                  // lines in again.jsonl
	done      int64
}

// ErrErasedMeanwhile means that a record was erased while the bundle was written. The caller can
// write a new bundle.
var ErrErasedMeanwhile = errors.New("records were erased while it was written: export again")

const passes = 5 // verify, count, leaves, records and page

func (b *bundle) progress(e ledger.Entry) {
	if b.opts.Progress != nil {
		b.opts.Progress(b.done*b.newest.Size+e.Leaf+1, passes*b.newest.Size)
	}
}

func (b *bundle) each(ctx context.Context, do func(ledger.Entry) error) error {
	for e, err := range below(ctx, b.reader, b.selection) {
		if err != nil {
			return err
		}
		if e.Removal.Done() && e.Removal.Order >= b.newest.Size {
			return ErrErasedMeanwhile
		}
		if err := do(e); err != nil {
			return err
		}
		b.progress(e)
	}
	b.done++
	return nil
}

func (b *bundle) count(ctx context.Context) error {
	next := int64(0)
	leave := func(first int64) {
		if next < first {
			b.gaps = append(b.gaps, span{next, first})
		}
	}
	n, s, last, producers := int64(0), b.selection, make(seals), make(map[string]bool)
	if err := b.each(ctx, func(e ledger.Entry) error {
		leave(e.Leaf)
		next = e.Leaf + 1
		n++
		if s.Run != "" && e.Run == s.Run {
			last.add(s.Run, e.LeafOf())
			producers[e.Producer] = true
		}
		return nil
	}); err != nil {
		return err
	}
	leave(b.newest.Size)
	if n == 0 && !s.IsAll() {
		return ErrNothing
	}
	b.about = About{
		Format: formatV2, Tenant: b.newest.Tenant, Run: s.Run, From: s.From.UTC(), To: s.To.UTC(),
		Leaves: n, Size: b.newest.Size, Seals: last.list(), Gaps: b.about.Gaps, Acknowledged: b.about.Acknowledged,
		Absent: b.about.Absent, Unsealed: b.about.Unsealed, Window: b.about.Window, Pending: b.about.Pending,
	}
	b.setFormat()
	if b.about.extent() == verifier.TimeRange {
		return nil
	}
	silent, err := b.reader.Activity().SilentProducers(ctx, b.newest)
	if s.Run != "" {
		silent = slices.DeleteFunc(silent, func(name string) bool { return !producers[name] })
	}
	b.about.SilentProducers = silent
	return err
}

func (b *bundle) write(ctx context.Context, signed []byte) error {
	about, err := json.MarshalIndent(b.about, "", "  ")
	if err != nil {
		return err
	}
	if _, err := parseAbout(about); err != nil {
		return fmt.Errorf("%s: %w: export less, such as a range of time", aboutFile, err)
	}
	text := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{aboutFile, text(string(about) + "\n")},
		{checkpointFile, text(string(signed))},
		{keyFile, text(b.opts.Key + "\n")},
		{witnessedFile, func(w io.Writer) error { return b.witnessed(ctx, w) }},
		{stampFile, text(string(b.stamp))},
		{leavesFile, func(w io.Writer) error { return b.leaves(ctx, w) }},
		{recordsFile, func(w io.Writer) error { return b.records(ctx, w) }},
		{againFile, func(w io.Writer) error { return b.again(ctx, w) }},
		{treeFile, func(w io.Writer) error { return b.tree(ctx, w) }},
		{pageFile, func(w io.Writer) error { return b.page(ctx, w) }},
		{selectionFile, b.statement},
	} {
		if f.name == stampFile && b.stamp == nil {
			continue
		}
		if err := b.file(f.name, f.write); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	w, err := b.create(sumsFile)
	if err != nil {
		return err
	}
	if _, err := w.Write(b.sums.Bytes()); err != nil {
		return err
	}
	return b.zip.Close()
}

// create gives each file in the archive the checkpoint's time, so that the same selection always
// gives the same bytes.
func (b *bundle) create(name string) (io.Writer, error) {
	modified := b.newest.Time.UTC().Truncate(time.Second)
	return b.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: modified})
}

func (b *bundle) file(name string, write func(io.Writer) error) error {
	w, err := b.create(name)
	if err != nil {
		return err
	}
	h := sha256.New()
	if err := write(io.MultiWriter(w, h)); err != nil {
		return err
	}
	b.digests[name] = events.Hash(h.Sum(nil))
	_, err = b.sums.WriteString(sumLine(b.digests[name], name))
	return err
}

func sumLine(h events.Hash, name string) string { return h.String() + "  " + name + "\n" }

func (b *bundle) leaves(ctx context.Context, w io.Writer) error {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	return b.each(ctx, func(e ledger.Entry) error { return lines.Encode(lineOfLeaf(e)) })
}

func (b *bundle) records(ctx context.Context, w io.Writer) error {
	var line []byte
	return b.each(ctx, func(e ledger.Entry) error {
		line = append(appendRecord(line[:0], e.Bytes), '\n')
		_, err := w.Write(line)
		return err
	})
}

func (b *bundle) again(ctx context.Context, w io.Writer) error {
	if b.about.extent() == verifier.TimeRange {
		return nil
	}
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	for a, err := range b.reader.Repetitions(ctx, b.about.Run, b.newest) {
		if err != nil {
			return err
		}
		if err := lines.Encode(lineOfAgain(a)); err != nil {
			return err
		}
		b.seenAgain++
	}
	return nil
}

const hashesAtOnce = 512

func (b *bundle) tree(ctx context.Context, w io.Writer) error {
	var list []subtree
	flush := func() error {
		indexes := make([]int64, len(list))
		for i, t := range list {
			indexes[i] = tlog.StoredHashIndex(t.level, t.index)
		}
		hashes, err := b.reader.Tree().Hashes(ctx, indexes)
		if err != nil {
			return err
		}
		var lines []byte
		for i, t := range list {
			lines = appendSubtree(lines, t, hashes[i])
		}
		list = list[:0]
		_, err = w.Write(lines)
		return err
	}
	for _, gap := range b.gaps {
		if list = append(list, gap.subtrees()...); len(list) >= hashesAtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
