package agents

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

// maxKept is how many keys [Memory] keeps; the ones that were used longest ago
// are forgotten. A key takes about 300 bytes.
const maxKept = 100_000

// Memory returns Pairs for one process: an import, a server.
func Memory() Pairs {
	return &memory{kept: map[[sha256.Size]byte]*list.Element{}, used: list.New()}
}

type memory struct {
	mu   sync.Mutex // guards all
	kept map[[sha256.Size]byte]*list.Element
	used *list.List // of *remembered, the latest in front
}

type remembered struct {
	hash  [sha256.Size]byte
	calls calls
}

// of returns the calls of k. The caller holds mu.
func (m *memory) of(k Key) *calls {
	hash := k.hash()
	if e, ok := m.kept[hash]; ok {
		m.used.MoveToFront(e)
		return &e.Value.(*remembered).calls //nolint:forcetypeassert // the list holds nothing else
	}
	r := &remembered{hash: hash}
	m.kept[hash] = m.used.PushFront(r)
	if m.used.Len() > maxKept {
		oldest := m.used.Remove(m.used.Back()).(*remembered) //nolint:forcetypeassert // the list holds nothing else
		delete(m.kept, oldest.hash)
	}
	return &r.calls
}

func (m *memory) Call(k Key, mark string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return callID(k, m.of(k).call(mark))
}

func (m *memory) Result(k Key, mark string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return callID(k, m.of(k).result(mark))
}

func (m *memory) Denied(k Key, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(k).denied(k, id)
}

func (m *memory) IsDenied(k Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(k).isDenied()
}
