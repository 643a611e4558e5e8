package ingest

import (
	"path/filepath"
	"strings"
	"time"
)

// maxHead bounds what is held back until the first session and time are known.
const maxHead = 1 << 20

// hold keeps the first lines back until session and time are known.
func (c *claude) hold(l *claudeLine) {
	c.head = append(c.head, l)
	c.headSize += len(l.raw)
	if c.session == "" {
		c.session = l.Session
	}
	if t, ok := l.when(); ok && c.last.IsZero() {
		c.last = t
	}
	if c.session != "" && !c.last.IsZero() || c.headSize > maxHead {
		c.release()
	}
}

func (c *claude) release() {
	if c.started {
		return
	}
	c.started = true
	if c.session == "" {
		c.session = strings.TrimSuffix(filepath.Base(c.opts.File), filepath.Ext(c.opts.File))
	}
	if !usable(c.session) || c.session == "" {
		c.session = "transcript"
	}
	if c.last.IsZero() {
		c.last = time.Unix(0, 0).UTC()
	}
	head := c.head
	c.head = nil
	for _, l := range head {
		if last := head[len(head)-1]; l.Cwd == "" && l.Version == "" {
			l.Cwd, l.Version, l.Branch = last.Cwd, last.Version, last.Branch
		}
		c.add(l)
	}
}
