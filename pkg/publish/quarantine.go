package publish

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// quarantineName is the folder, in the outbox, of copies of segments that were
// found damaged.
const quarantineName = "quarantine"

// quarantine keeps a copy of a segment in which something is damaged: what the
// outbox makes of it goes to the stream, and the segment itself goes then.
func (o *outbox) quarantine(segment uint64, it item) {
	kept, err := o.keep(segment)
	log := o.opts.Logger.With("segment", o.spool.path(segment), "bytes", it.size,
		"kept", kept, "remedy", "check the disk; remove the copy when it is of no more use")
	if it.ordinal > 0 {
		log = log.With("record", it.ordinal, "tenant", it.tenant, "sequence", it.sequence)
	}
	if err != nil {
		log = log.With("error", err)
	}
	log.Error("outbox is damaged: what cannot be read is recorded as lost")
}

// keep copies a segment, once, and returns where to.
func (o *outbox) keep(segment uint64) (path string, err error) {
	path = filepath.Join(o.opts.Dir, quarantineName, o.id.Producer+"-"+filepath.Base(o.spool.path(segment)))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	from, err := os.Open(o.spool.path(segment))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("keep a copy: %w", err), os.Remove(path+".new"))
	}
	return path, nil
}
