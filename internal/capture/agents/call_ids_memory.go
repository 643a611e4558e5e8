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
	return &memory{kept: map[[sha256.Size]byte]*remembered{}, used: list.New()}
}

type memory struct {
	mu   sync.Mutex // guards all
	kept map[[sha256.Size]byte]*remembered
	used *list.List // of the keys in kept, the latest used in front
}

type remembered struct {
	at    *list.Element
	calls calls
}

// of returns the calls of k. The caller holds mu.
func (m *memory) of(k Key) *calls {
	hash := k.hash()
	if r, ok := m.kept[hash]; ok {
		m.used.MoveToFront(r.at)
		return &r.calls
	}
	r := &remembered{}
	r.at = m.used.PushFront(hash)
	m.kept[hash] = r
	if m.used.Len() > maxKept {
		if oldest, ok := m.used.Remove(m.used.Back()).([sha256.Size]byte); ok {
			delete(m.kept, oldest)
		}
	}
	return &r.calls
}

// Call implements [Pairs].
func (m *memory) Call(k Key, mark string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return callID(k, m.of(k).call(mark))
}

// Result implements [Pairs].
func (m *memory) Result(k Key, mark string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return callID(k, m.of(k).result(mark))
}

// Denied implements [Pairs].
func (m *memory) Denied(k Key, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(k).denied(k, id)
}

// IsDenied implements [Pairs].
func (m *memory) IsDenied(k Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(k).isDenied()
}
