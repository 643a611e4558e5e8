package claude

import "github.com/hooktrail/hooktrail/internal/capture/ingest"

const maxHead = 1 << 20

func (t *transcript) enqueue(l *line) {
	t.head = append(t.head, l)
	t.headSize += len(l.raw)
	if t.session == "" {
		t.session = l.Session
	}
	if at, ok := ingest.Time(l.Timestamp); ok && t.last.IsZero() {
		t.last = at
	}
	if t.session != "" && !t.last.IsZero() || t.headSize > maxHead {
		t.release()
	}
}

func (t *transcript) release() {
	if t.started {
		return
	}
	t.started = true
	if t.session == "" {
		t.session = ingest.SessionOf(t.opts.File)
	}
	if t.last.IsZero() {
		t.last = t.Now()
	}
	head := t.head
	t.head = nil
	for _, l := range head {
		if last := head[len(head)-1]; l.Cwd == "" && l.Version == "" {
			l.Cwd, l.Version, l.Branch = last.Cwd, last.Version, last.Branch
		}
		t.add(l)
	}
}
