package bundle

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// ErrNothing is wrapped when a selection is empty.
var ErrNothing = errors.New("the ledger has no records of that run and time")

// Options are the settings of [WriteBundle].
type Options struct {
	Selection ledger.Selection // only its run and times count
	Key       string           // verifier key to include
	Progress  func(done, total int64)
}

// WriteBundle writes a bundle of the selected records up to the newest checkpoint to w.
// A bundle of a run also has the manifests that list its events. The error wraps
// [ErrNothing] if the selection is empty. After an error the output is not a valid
// bundle.
func WriteBundle(ctx context.Context, w io.Writer, r *ledger.Reader, opts Options) error {
	signed, c, err := r.Signed(ctx)
	if err != nil {
		return err
	}
	s := ledger.Selection{Run: opts.Selection.Run, From: opts.Selection.From, To: opts.Selection.To}
	if s, err = r.WithManifests(ctx, s); err != nil {
		return err
	}
	s.Before = c.Size
	b := &bundle{zip: zip.NewWriter(w), reader: r, opts: opts, selection: s, newest: c}
	if err := b.count(ctx); err != nil {
		return err
	}
	if err := b.write(ctx, signed); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return nil
}

// bundle is the state of one call of WriteBundle.
type bundle struct {
	zip       *zip.Writer
	reader    *ledger.Reader
	opts      Options
	selection ledger.Selection
	newest    ledger.Checkpoint
	about     About

	gaps []span // leaves that are not in the bundle
	sums bytes.Buffer
	done int64
}

// ErrErasedMeanwhile is wrapped when records were erased by an order after the
// checkpoint of the bundle. The caller writes a new bundle.
var ErrErasedMeanwhile = errors.New("records were erased while it was written: export again")

// passes is how often the records are read, to count them, for their leaves, for the
// records and for the page.
const passes = 4

func (b *bundle) progress(e ledger.Entry) {
	if b.opts.Progress != nil {
		b.opts.Progress(b.done*b.newest.Size+e.Leaf+1, passes*b.newest.Size)
	}
}

// each calls do for every record of the bundle.
func (b *bundle) each(ctx context.Context, do func(ledger.Entry) error) error {
	for e, err := range below(ctx, b.reader, b.selection) {
		if err != nil {
			return err
		}
		// An order after the checkpoint is not in the bundle.
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

// count counts the leaves and finds the gaps between them.
func (b *bundle) count(ctx context.Context) error {
	next := int64(0)
	leave := func(first int64) {
		if next < first {
			b.gaps = append(b.gaps, span{next, first})
		}
	}
	n := int64(0)
	if err := b.each(ctx, func(e ledger.Entry) error {
		leave(e.Leaf)
		next = e.Leaf + 1
		n++
		return nil
	}); err != nil {
		return err
	}
	leave(b.newest.Size)
	s := b.selection
	if n == 0 && !s.IsAll() {
		return ErrNothing
	}
	b.about = About{
		Format: bundleFormat, Tenant: b.newest.Tenant, Run: s.Run, From: s.From.UTC(), To: s.To.UTC(),
		Leaves: n, Size: b.newest.Size,
	}
	if !s.IsAll() {
		return nil
	}
	var err error
	b.about.Unheard, err = b.reader.Activity().SilentProducers(ctx, b.newest)
	return err
}

func (b *bundle) write(ctx context.Context, signed []byte) error {
	about, err := json.MarshalIndent(b.about, "", "  ")
	if err != nil {
		return err
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
		{leavesFile, func(w io.Writer) error { return b.leaves(ctx, w) }},
		{recordsFile, func(w io.Writer) error { return b.records(ctx, w) }},
		{againFile, func(w io.Writer) error { return b.again(ctx, w) }},
		{treeFile, func(w io.Writer) error { return b.tree(ctx, w) }},
		{pageFile, func(w io.Writer) error { return b.page(ctx, w) }},
	} {
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

// create begins a file with the time of the checkpoint, so that the bytes do not depend
// on the clock.
func (b *bundle) create(name string) (io.Writer, error) {
	modified := b.newest.Time.UTC().Truncate(time.Second)
	return b.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: modified})
}

// file writes a file and records its hash.
func (b *bundle) file(name string, write func(io.Writer) error) error {
	w, err := b.create(name)
	if err != nil {
		return err
	}
	h := sha256.New()
	if err := write(io.MultiWriter(w, h)); err != nil {
		return err
	}
	_, err = b.sums.WriteString(sumLine(h, name))
	return err
}

// sumLine returns a line of SHA256SUMS.
func sumLine(h hash.Hash, name string) string {
	return hex.EncodeToString(h.Sum(nil)) + "  " + name + "\n"
}

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

// again writes the repeated events. A time range has none because it cannot be judged.
func (b *bundle) again(ctx context.Context, w io.Writer) error {
	if _, ok := b.about.extent(); !ok {
		return nil
	}
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	for a, err := range b.reader.Again(ctx, b.about.Run, b.newest) {
		if err != nil {
			return err
		}
		if err := lines.Encode(lineOfAgain(a)); err != nil {
			return err
		}
	}
	return nil
}

// hashesAtOnce is how many hashes tree reads at once.
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
