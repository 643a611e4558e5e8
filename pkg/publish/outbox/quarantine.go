package outbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
)

const quarantineName = "quarantine"

func (o *outbox) quarantine(first uint64, it segment.Item) {
	path := segment.Dir(o.id.dir(o.opts.Dir)).Path(first)
	kept := filepath.Join(o.opts.Dir, quarantineName, o.id.Producer+"-"+filepath.Base(path))
	log := o.opts.Logger.With("segment", path, "bytes", it.Size, "copy", kept,
		"remedy", "check the disk; remove the copy when you no longer need it")
	if it.Ordinal > 0 {
		log = log.With("record", it.Ordinal, "tenant", it.Tenant, "sequence", it.Sequence)
	}
	if err := copySegment(path, kept); err != nil {
		log = log.With("error", err)
	}
	log.Error("outbox is damaged, unreadable records are recorded as lost")
}

func copySegment(path, kept string) (err error) {
	if _, err := os.Stat(kept); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return err
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := os.OpenFile(kept+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err == nil {
		err = os.Rename(kept+".new", kept)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("copy damaged segment: %w", err), os.Remove(kept+".new"))
	}
	return nil
}
