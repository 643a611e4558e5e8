package intake

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Limits limits the open requests of a [Room] and the bytes of their bodies. A zero field means the
// default.
type Limits struct {
	Requests, SenderRequests int   // that are handled at the same time, in total and of one sender
	Bytes, SenderBytes       int64 // of their bodies in memory, in total and of one sender
}

// Default limits.
const (
	DefaultRequests       = 1024
	DefaultSenderRequests = 512
	DefaultBytes          = 64 << 20
	DefaultSenderBytes    = 32 << 20
)

// free is the number of bytes of each body that do not count towards the limits. A usual hook
// payload is smaller, so large bodies of other senders never cause its refusal.
const free = 64 << 10

const (
	// step is how many bytes a body of unknown length reserves at a time.
	step = 64 << 10
	// maxKnown limits the bytes that a body of known length reserves at once. Longer bodies are
	// streams of events.
	maxKnown = 16 << 20
)

func (l Limits) withDefaults() Limits {
	l.Requests, l.SenderRequests = cmp.Or(l.Requests, DefaultRequests), cmp.Or(l.SenderRequests, DefaultSenderRequests)
	l.Bytes, l.SenderBytes = cmp.Or(l.Bytes, DefaultBytes), cmp.Or(l.SenderBytes, DefaultSenderBytes)
	return l
}

type held struct {
	requests int
	bytes    int64
}

// Room limits the open requests of a server and the bytes of their bodies. It is safe for
// concurrent use.
type Room struct {
	limits Limits

	mu  sync.Mutex // guards the other fields
	all held
	by  map[string]*held // by sender
}

// NewRoom returns a Room without open requests.
func NewRoom(limits Limits) *Room {
	return &Room{limits: limits.withDefaults(), by: map[string]*held{}}
}

// Enter counts a new request of a sender. It returns a [BusyError] if a limit is reached. The
// caller must call [Place.Leave] when the request ends.
func (r *Room) Enter(sender string) (*Place, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.by[sender]
	switch {
	case own != nil && own.requests >= r.limits.SenderRequests:
		return nil, busy(http.StatusTooManyRequests, fmt.Sprintf("this sender has %d requests open", own.requests))
	case r.all.requests >= r.limits.Requests:
		return nil, busy(http.StatusServiceUnavailable, fmt.Sprintf("%d requests are open", r.all.requests))
	case own == nil:
		own = &held{}
		r.by[sender] = own
	}
	own.requests++
	r.all.requests++
	return &Place{room: r, sender: sender, own: own}, nil
}

// Held returns the number of open requests and the bytes that are reserved for their bodies.
func (r *Room) Held() (requests int, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.requests, r.all.bytes
}

// Place is an open request that a [Room] counts. Only one goroutine may use it.
type Place struct {
	room   *Room
	sender string
	own    *held
	read   int64 // bytes of the body in memory
	taken  int64 // bytes that count
	wants  int64 // bytes to take at once
}

// Body returns the body of a request and counts the bytes as they are read. Read returns a
// [BusyError] if a limit is reached. A body of known length reserves all its bytes at once, up to
// 16 MiB. Under load, some large bodies are then read completely, instead of a part of each.
func (p *Place) Body(r *http.Request) io.ReadCloser {
	p.wants = min(r.ContentLength, maxKnown)
	return &countedBody{ReadCloser: r.Body, place: p}
}

type countedBody struct {
	io.ReadCloser

	place *Place
}

// Read implements [io.Reader].
func (b *countedBody) Read(to []byte) (int, error) {
	to = to[:min(len(to), step)]
	if err := b.place.grow(int64(len(to))); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(to)
	b.place.read += int64(n)
	return n, err
}

// grow reserves the bytes of the next read before it happens.
func (p *Place) grow(next int64) error {
	if p.read+next <= free+p.taken {
		return nil
	}
	more := max(step, p.wants-free)
	p.wants = 0
	r := p.room
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case p.own.bytes+more > r.limits.SenderBytes:
		return busy(http.StatusTooManyRequests, fmt.Sprintf("the open requests of this sender have more than %d bytes", r.limits.SenderBytes))
	case r.all.bytes+more > r.limits.Bytes:
		return busy(http.StatusServiceUnavailable, fmt.Sprintf("the open requests have more than %d bytes", r.limits.Bytes))
	}
	p.taken += more
	p.own.bytes += more
	r.all.bytes += more
	return nil
}

// Forget releases the bytes that were read until now. Call it when they are no longer in memory.
func (p *Place) Forget() {
	if p.read = 0; p.taken == 0 {
		return
	}
	r := p.room
	r.mu.Lock()
	defer r.mu.Unlock()
	p.giveBack()
}

func (p *Place) giveBack() {
	p.own.bytes -= p.taken
	p.room.all.bytes -= p.taken
	p.taken = 0
}

// Leave ends the request and releases its bytes.
func (p *Place) Leave() {
	r := p.room
	r.mu.Lock()
	defer r.mu.Unlock()
	p.giveBack()
	p.own.requests--
	r.all.requests--
	if p.own.requests == 0 {
		delete(r.by, p.sender)
	}
}
