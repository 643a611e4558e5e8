package intake

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Limits bound the requests that a [Room] holds. A zero field has its default.
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

// free is the size of a body that needs no place among the bytes, so that large bodies of others
// never refuse a usual hook payload.
const free = 64 << 10

const (
	// step is the number of bytes that a body of unknown length takes at once.
	step = 64 << 10
	// maxKnown limits what a body of known length takes at once. Longer bodies are streams of
	// events.
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

// Room counts the requests that are handled. It is safe for concurrent use.
type Room struct {
	limits Limits

	mu  sync.Mutex // guards the other fields
	all held
	by  map[string]*held // by sender
}

// NewRoom returns an empty Room.
func NewRoom(limits Limits) *Room {
	return &Room{limits: limits.withDefaults(), by: map[string]*held{}}
}

// Enter takes a place for a request of a sender. It returns a [BusyError] if there is none. The
// caller must call Leave at the end.
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

// Held returns the requests of all senders, and the bytes that count.
func (r *Room) Held() (requests int, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.requests, r.all.bytes
}

// Place is the place of one request. Only one goroutine may use it.
type Place struct {
	room   *Room
	sender string
	own    *held
	read   int64 // bytes of the body in memory
	taken  int64 // bytes that count
	wants  int64 // bytes to take at once
}

// Body returns the body of a request, which counts what is read from it. Read returns a [BusyError]
// if there is no place for more. A body of known length takes its places at once, so that of many
// large bodies some are read, and not a part of each.
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

// grow takes the bytes of the next read before it happens.
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

// Forget gives back the bytes that were read until now, because they are no longer in memory.
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

// Leave gives the place back.
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
