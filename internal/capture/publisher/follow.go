package publisher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// followed is how a file that is followed stands.
type followed struct {
	info  fs.FileInfo   // as of its latest reading; nil before the first
	ended time.Time     // when that was over
	took  time.Duration // how long it took
	done  bool          // it was read as one that is complete, and did not change since
}

// pause is how many times as long as it takes to read a file it is left alone.
const pause = 10

// follow imports what paths lead to, and goes on with what changes, until ctx
// ends. A file that changed is read again from its beginning: what was taken
// before adds nothing, however the tool writes its files, and whether one was
// truncated or replaced. That it takes longer, the longer the file is, is made up
// for by reading it less often.
//
// While a file changes, its runs are not told as finished: they are once it has
// rested, and when ctx ends.
func (im *importer) follow(ctx, work context.Context) error {
	for {
		began := time.Now()
		inputs, err := im.look(ctx)
		if err != nil {
			return err
		}
		looked := time.Since(began)
		for _, in := range inputs {
			if ctx.Err() != nil {
				break
			}
			if err := im.goOn(work, in); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return im.complete(work)
		}
		// Looking through large folders must not be all that is done.
		wait := time.NewTimer(max(im.opts.Poll, pause*looked))
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
	}
}

// look returns the files that there are now. A path that leads nowhere any more
// can lead somewhere again.
func (im *importer) look(ctx context.Context) ([]input, error) {
	var all []input
	for _, path := range im.opts.Paths {
		found, err := findTranscripts([]string{path}, extsOf(im.opts.Format))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNoTranscripts), errors.Is(err, errNoMatch):
		case err != nil && ctx.Err() == nil:
			return nil, err
		}
		all = append(all, found.inputs...)
	}
	return all, nil
}

// state returns what is known of an input, and whether it changed since its
// latest reading.
func (im *importer) state(in input) (f *file, changed bool) {
	f = im.files[in.path]
	if f == nil {
		f = &file{input: in}
		im.files[in.path] = f
	}
	before, now := f.state.info, in.info
	return f, before == nil || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime()) || !os.SameFile(before, now)
}

// goOn reads a file that changed, or that has rested.
func (im *importer) goOn(work context.Context, in input) error {
	f, changed := im.state(in)
	now := time.Now()
	rested := now.Sub(in.info.ModTime()) >= im.opts.Rest
	switch {
	case changed && now.Sub(f.state.ended) < pause*f.state.took:
		return nil // later
	case !changed && (f.state.done || !rested):
		return nil
	}
	return im.again(work, f, in, !rested)
}

// complete reads for the last time what changed since its latest reading, and
// what was still open.
func (im *importer) complete(work context.Context) error {
	inputs, err := im.look(work)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		f, changed := im.state(in)
		if f.state.done && !changed {
			continue
		}
		if err := im.again(work, f, in, false); err != nil {
			return err
		}
	}
	return nil
}

// again reads a file from its beginning.
func (im *importer) again(work context.Context, f *file, in input, open bool) error {
	began, before := time.Now(), f.fresh
	err := im.read(work, work, in, open)
	if open && errors.Is(err, ErrUnrecognised) { // what tells may still be written
		err = nil
	}
	f.state = followed{info: in.info, ended: time.Now(), took: time.Since(began), done: !open}
	if _, ok := errors.AsType[*inputError](err); ok {
		im.opts.Logger.WarnContext(work, "transcript could not be read", "file", in.path, "error", err)
		err = nil // it is tried again when it changes
	}
	if err != nil {
		return fmt.Errorf("follow %s: %w", in.path, err)
	}
	if added := f.fresh - before; added > 0 {
		im.opts.Logger.InfoContext(work, "transcript imported", "file", in.path, "new_events", added, "complete", !open)
	}
	return nil
}
