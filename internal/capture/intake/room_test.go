package intake

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
)

func enter(t *testing.T, r *Room, sender string) *Place {
	t.Helper()
	p, err := r.Enter(sender)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func request(size int) *http.Request {
	return &http.Request{Body: io.NopCloser(bytes.NewReader(make([]byte, size))), ContentLength: -1}
}

func wantBusy(t *testing.T, err error, status int) {
	t.Helper()
	if busy, ok := errors.AsType[*BusyError](err); !ok || busy.Status != status {
		t.Errorf("got %v, want status %d", err, status)
	}
}

func TestRoom_Requests(t *testing.T) {
	r := NewRoom(Limits{Requests: 3, SenderRequests: 2})
	first := enter(t, r, "a")
	enter(t, r, "a")
	_, err := r.Enter("a")
	wantBusy(t, err, http.StatusTooManyRequests)
	enter(t, r, "b")
	_, err = r.Enter("c")
	wantBusy(t, err, http.StatusServiceUnavailable)
	first.Leave()
	enter(t, r, "c")
	header := http.Header{}
	if busy, ok := errors.AsType[*BusyError](err); ok {
		busy.SetHeader(header)
	}
	if header.Get("Retry-After") != "1" || header.Get("Hooktrail-Busy") != "1" {
		t.Errorf("header %v", header)
	}
}

// Bodies never hold more than the limits, and every byte is given back.
//
//guarantee:intake-bounded
func TestRoom_Bytes(t *testing.T) {
	const sender, all, size = 512 << 10, 768 << 10, 200_000
	r := NewRoom(Limits{SenderBytes: sender, Bytes: all})
	var open sync.WaitGroup
	release := make(chan struct{})
	statuses := make(chan int, 60)
	for i := range 60 {
		p := enter(t, r, string("abc"[i%3]))
		open.Go(func() {
			defer p.Leave()
			_, err := io.ReadAll(p.Body(request(size)))
			busy, _ := errors.AsType[*BusyError](err)
			switch {
			case err == nil:
				statuses <- http.StatusOK
			case busy != nil:
				statuses <- busy.Status
			default:
				t.Error(err)
				statuses <- 0
			}
			<-release
		})
	}
	got := map[int]int{}
	for range 60 {
		got[<-statuses]++
		if _, bytes := r.Held(); bytes > all {
			t.Errorf("%d bytes are held", bytes)
		}
	}
	if got[http.StatusServiceUnavailable] == 0 || got[http.StatusOK] > all/(size-free) {
		t.Errorf("got %v", got)
	}
	// Small bodies always find room.
	p := enter(t, r, "a")
	if _, err := io.ReadAll(p.Body(request(free / 2))); err != nil {
		t.Error(err)
	}
	p.Leave()
	close(release)
	open.Wait()
	if requests, bytes := r.Held(); requests != 0 || bytes != 0 || len(r.by) != 0 {
		t.Errorf("left are %d requests, %d bytes and %d senders", requests, bytes, len(r.by))
	}
}

func TestRoom_SenderBytes(t *testing.T) {
	r := NewRoom(Limits{SenderBytes: 256 << 10})
	p := enter(t, r, "a")
	_, err := io.ReadAll(p.Body(request(1 << 20)))
	wantBusy(t, err, http.StatusTooManyRequests)
	other := enter(t, r, "b")
	if _, err := io.ReadAll(other.Body(request(200 << 10))); err != nil {
		t.Error(err)
	}
}

// A body of any length finds room if its bytes do not stay in memory.
func TestPlace_Forget(t *testing.T) {
	r := NewRoom(Limits{Bytes: 256 << 10})
	p := enter(t, r, "a")
	body := p.Body(request(4 << 20))
	for n := 0; n < 4<<20; {
		more, err := io.CopyN(io.Discard, body, 128<<10)
		if err != nil {
			t.Fatal(err)
		}
		n += int(more)
		p.Forget()
	}
	if _, bytes := r.Held(); bytes != 0 {
		t.Errorf("%d bytes are held", bytes)
	}
}

// Of many bodies of known length, as many are read as there are places.
func TestPlace_KnownLength(t *testing.T) {
	r := NewRoom(Limits{Bytes: 1 << 20})
	var open []*Place
	ok := 0
	for range 20 {
		p := enter(t, r, "a")
		known := request(256 << 10)
		known.ContentLength = 256 << 10
		if _, err := io.CopyN(io.Discard, p.Body(known), 2*free); err == nil {
			ok++
		}
		open = append(open, p)
	}
	if ok != 5 { // the first 64 KiB of each need no place
		t.Errorf("%d bodies have a place, want 5", ok)
	}
	for _, p := range open {
		p.Leave()
	}
	if _, bytes := r.Held(); bytes != 0 {
		t.Errorf("%d bytes are held", bytes)
	}
}
