package agents

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

// maxKeys limits how many keys of calls are in memory. Each key takes about 300 bytes.
const maxKeys = 100_000

// NewCallIDs returns CallIDs that are stored in memory. They keep at most 100,000 entries, and drop
// the least recently used one.
func NewCallIDs() CallIDs {
	return &memory{keys: map[[sha256.Size]byte]*cached{}, used: list.New()}
}

type memory struct {
	mu   sync.Mutex
	keys map[[sha256.Size]byte]*cached
	used *list.List
}

type cached struct {
	at    *list.Element
	calls calls
	step  string // latest step, of the key of a session
}

// The caller must hold m.mu.
func (m *memory) of(k Key) *calls { return &m.cached(k).calls }

func (m *memory) cached(k Key) *cached {
	hash := k.hash()
	if r, ok := m.keys[hash]; ok {
		m.used.MoveToFront(r.at)
		return r
	}
	r := &cached{}
	r.at = m.used.PushFront(hash)
	m.keys[hash] = r
	if m.used.Len() > maxKeys {
		if oldest, ok := m.used.Remove(m.used.Back()).([sha256.Size]byte); ok {
			delete(m.keys, oldest)
		}
	}
	return r
}

// Call implements [CallIDs].
func (m *memory) Call(k Key, identity string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return callID(k, m.of(k).call(identity))
}

// Result implements [CallIDs].
func (m *memory) Result(k Key, identity string, denied bool) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if denied {
		return callID(k, m.of(k).deniedResult(identity))
	}
	return callID(k, m.of(k).result(identity))
}

// Denied implements [CallIDs].
func (m *memory) Denied(k Key, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(k).denied(k, id)
}

// Stated implements [CallIDs].
func (m *memory) Stated(k Key, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(k).stated(id, hasCall)
}

// StatedResult implements [CallIDs].
func (m *memory) StatedResult(k Key, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(k).stated(id, hasResult)
}

// DenyOpen implements [CallIDs].
func (m *memory) DenyOpen(k Key, identity string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(k).denyOpen(k, identity)
}

// IsDenied implements [CallIDs].
func (m *memory) IsDenied(k Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(k).isDenied()
}

// Mark implements [CallIDs].
func (m *memory) Mark(session string, mark Mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := mark.key(session)
	m.of(k).mark(k)
}

// IsMarked implements [CallIDs].
func (m *memory) IsMarked(session string, mark Mark) bool { return m.IsDenied(mark.key(session)) }

// Prompt implements [CallIDs].
func (m *memory) Prompt(k Key, identity string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	step := promptID(k, m.of(k).call(identity))
	m.cached(Key{Session: k.Session}).step = step
	return step
}

// Began implements [CallIDs].
func (m *memory) Began(session, step string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cached(Key{Session: session}).step = step
}

// Step implements [CallIDs].
func (m *memory) Step(session string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cached(Key{Session: session}).step
}
