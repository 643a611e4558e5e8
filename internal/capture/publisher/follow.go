package publisher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// followed is the state of a file that is followed.
type followed struct {
	info  fs.FileInfo   // at the latest read; nil before the first
	ended time.Time     // end of the latest read
	took  time.Duration // duration of the latest read
	done  bool          // the latest read took the file as complete
}

// pauseFactor is the pause before the next read of a file, as a multiple of the
// duration of the latest read.
const pauseFactor = 10

// follow imports the files of all paths, and then their changes, until ctx ends. It
// reads a changed file from its beginning, because tools may truncate or replace
// files. Events of earlier reads are duplicates, which the outbox drops. Long files
// take longer to read, so they are read less often.
//
// The runs of a file are finished once it has not changed for Rest, or when ctx ends.
func (im *importer) follow(ctx, work context.Context) error {
	for {
		began := time.Now()
		inputs, err := im.find(ctx)
		if err != nil {
			return err
		}
		took := time.Since(began)
		for _, in := range inputs {
			if ctx.Err() != nil {
				break
			}
			if err := im.update(work, in); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return im.complete(work)
		}
		// A search through large folders must not take most of the time.
		wait := time.NewTimer(max(im.opts.Poll, pauseFactor*took))
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
	}
}

// find returns the files that exist now. A path without files is not an error,
// because files can appear later.
func (im *importer) find(ctx context.Context) ([]input, error) {
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

// state returns the record of an input, and whether the file has changed since its
// latest read.
func (im *importer) state(in input) (f *file, changed bool) {
	f = im.files[in.path]
	if f == nil {
		f = &file{input: in}
		im.files[in.path] = f
	}
	before, now := f.state.info, in.info
	return f, before == nil || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime()) || !os.SameFile(before, now)
}

// update reads a file that has changed, or that has not changed for Rest.
func (im *importer) update(work context.Context, in input) error {
	f, changed := im.state(in)
	now := time.Now()
	rested := now.Sub(in.info.ModTime()) >= im.opts.Rest
	switch {
	case changed && now.Sub(f.state.ended) < pauseFactor*f.state.took:
		return nil // later
	case !changed && (f.state.done || !rested):
		return nil
	}
	return im.reread(work, f, in, !rested)
}

// complete reads the files that have changed since their latest read, or that were
// incomplete then. It takes them all as complete.
func (im *importer) complete(work context.Context) error {
	inputs, err := im.find(work)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		f, changed := im.state(in)
		if f.state.done && !changed {
			continue
		}
		if err := im.reread(work, f, in, false); err != nil {
			return err
		}
	}
	return nil
}

// reread reads a file from its beginning.
func (im *importer) reread(work context.Context, f *file, in input, open bool) error {
	began, before := time.Now(), f.fresh
	err := im.read(work, work, in, open)
	if open && errors.Is(err, ErrUnrecognised) { // the line that identifies the format may follow
		err = nil
	}
	f.state = followed{info: in.info, ended: time.Now(), took: time.Since(began), done: !open}
	if _, ok := errors.AsType[*inputError](err); ok {
		im.opts.Logger.WarnContext(work, "transcript could not be read", "file", in.path, "error", err)
		err = nil // the next change of the file is the next attempt
	}
	if err != nil {
		return fmt.Errorf("follow %s: %w", in.path, err)
	}
	if added := f.fresh - before; added > 0 {
		im.opts.Logger.InfoContext(work, "transcript imported", "file", in.path, "new_events", added, "complete", !open)
	}
	return nil
}
