package witness

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/witness/witnesstest"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testLog is a log in memory, computed by x/mod alone.
type testLog struct {
	signer note.Signer
	vkey   string
	size   int64
	hashes []tlog.Hash
}

const origin = "hooktrail/acme"

func newLog(tb testing.TB) *testLog {
	tb.Helper()
	secret, public, err := note.GenerateKey(rand.Reader, "hooktrail")
	if err != nil {
		tb.Fatal(err)
	}
	l := &testLog{vkey: public}
	if l.signer, err = note.NewSigner(secret); err != nil {
		tb.Fatal(err)
	}
	return l
}

// ReadHashes implements [tlog.HashReader].
func (l *testLog) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	found := make([]tlog.Hash, len(indexes))
	for i, n := range indexes {
		found[i] = l.hashes[n]
	}
	return found, nil
}

func (l *testLog) grow(tb testing.TB, word string, size int64) {
	tb.Helper()
	for ; l.size < size; l.size++ {
		hashes, err := tlog.StoredHashes(l.size, fmt.Appendf(nil, "%s %d", word, l.size), l)
		if err != nil {
			tb.Fatal(err)
		}
		l.hashes = append(l.hashes, hashes...)
	}
}

func (l *testLog) checkpoint(tb testing.TB) Checkpoint {
	tb.Helper()
	root, err := tlog.TreeHash(l.size, l)
	if err != nil {
		tb.Fatal(err)
	}
	signed, err := note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\nextension\n", origin, l.size, root)}, l.signer)
	if err != nil {
		tb.Fatal(err)
	}
	size := l.size
	return Checkpoint{Note: signed, Size: size, Prove: func(_ context.Context, old int64) ([]tlog.Hash, error) {
		return tlog.ProveTree(size, old, l)
	}}
}

func place(tb testing.TB) (*witnesstest.Witness, transparency.Witness) {
	tb.Helper()
	w := witnesstest.New(tb, "witness.example/w")
	v, err := transparency.NewCosigner(w.VerifierKey)
	if err != nil {
		tb.Fatal(err)
	}
	return w, transparency.Witness{Name: "w", Verifier: v, URL: w.URL}
}

func client(tb testing.TB) *Client {
	tb.Helper()
	c := NewClient()
	tb.Cleanup(c.Close)
	return c
}

func wantCosigned(tb testing.TB, line []byte, err error, w transparency.Witness, c Checkpoint) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := note.Open(slices.Concat(c.Note, line), note.VerifierList(w.Verifier)); err != nil {
		tb.Fatalf("the cosignature: %v", err)
	}
}

func TestClient_Cosign(t *testing.T) {
	server, w := place(t)
	l, c := newLog(t), client(t)
	server.Watch(t, origin, l.vkey)
	known := int64(0)
	for _, size := range []int64{1, 2, 3, 7, 8, 255, 256, 300, 300} {
		l.grow(t, "record", size)
		cp := l.checkpoint(t)
		line, err := c.Cosign(t.Context(), w, cp, known)
		wantCosigned(t, line, err, w, cp)
		if got := server.Size(origin); got != uint64(size) {
			t.Fatalf("the witness stands at %d, want %d", got, size)
		}
		known = size
	}
	// The witness tells a client with a wrong size the right one.
	l.grow(t, "record", 301)
	for _, wrong := range []int64{0, 5, 301} {
		cp := l.checkpoint(t)
		line, err := c.Cosign(t.Context(), w, cp, wrong)
		wantCosigned(t, line, err, w, cp)
	}
}

// A rewritten or truncated log gets no cosignature.
//
//guarantee:witness-fork
func TestClient_ForkIsRefused(t *testing.T) {
	server, w := place(t)
	l, c := newLog(t), client(t)
	server.Watch(t, origin, l.vkey)
	l.grow(t, "record", 20)
	if _, err := c.Cosign(t.Context(), w, l.checkpoint(t), 0); err != nil {
		t.Fatal(err)
	}
	for name, fork := range map[string]struct {
		same, size int64
	}{"Rewritten": {0, 30}, "SameSize": {19, 20}, "LastOne": {19, 30}, "CutOff": {10, 10}, "CutOffAndGrown": {10, 20}} {
		t.Run(name, func(t *testing.T) {
			other := &testLog{signer: l.signer}
			other.grow(t, "record", fork.same)
			other.grow(t, "another", fork.size)
			for _, known := range []int64{0, 20} {
				if _, err := c.Cosign(t.Context(), w, other.checkpoint(t), known); !errors.Is(err, ErrForked) {
					t.Errorf("known %d: got %v, want %v", known, err, ErrForked)
				}
			}
			if got := server.Size(origin); got != 20 {
				t.Errorf("the witness stands at %d", got)
			}
		})
	}
}

func TestClient_UnknownLog(t *testing.T) {
	server, w := place(t)
	l, c := newLog(t), client(t)
	l.grow(t, "record", 3)
	if _, err := c.Cosign(t.Context(), w, l.checkpoint(t), 0); !errors.Is(err, ErrUnknownLog) {
		t.Errorf("unknown origin: got %v, want %v", err, ErrUnknownLog)
	}
	server.Watch(t, origin, newLog(t).vkey)
	if _, err := c.Cosign(t.Context(), w, l.checkpoint(t), 0); !errors.Is(err, ErrUnknownLog) {
		t.Errorf("unknown key: got %v, want %v", err, ErrUnknownLog)
	}
}

// Every invalid answer is an error without delay.
//
//guarantee:witness-fails
func TestClient_BadAnswers(t *testing.T) {
	server, w := place(t)
	l, c := newLog(t), client(t)
	l.grow(t, "record", 3)
	stranger, _ := place(t)
	stranger.Watch(t, origin, l.vkey)
	text := func(status int, kind, body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", kind)
			rw.WriteHeader(status)
			_, _ = rw.Write([]byte(body))
		}
	}
	for name, say := range map[string]http.HandlerFunc{
		"Nothing": text(200, "text/plain", ""), "Page": text(200, "text/html", "<html>\n"),
		"OwnText":  text(200, "text/plain", "more\n\n— w AAAA\n"),
		"Stranger": stranger.ServeHTTP,
		"Redirect": func(rw http.ResponseWriter, req *http.Request) {
			http.Redirect(rw, req, stranger.URL, http.StatusFound)
		},
		"Endless":   text(200, "text/plain", strings.Repeat("x", 2*maxAnswerBytes)),
		"Broken":    text(500, "text/plain", "no"),
		"NoSize":    text(409, sizeType, "x\n"),
		"NoFeed":    text(409, sizeType, "1"),
		"Negative":  text(409, sizeType, "-1\n"),
		"AlwaysTwo": text(409, sizeType, "2\n"),
		"Ahead":     text(409, sizeType, "4\n"),
		"Conflict":  text(409, "text/plain", "root differs\n"),
	} {
		t.Run(name, func(t *testing.T) {
			server.Answer(say)
			before := server.Hits()
			line, err := c.Cosign(t.Context(), w, l.checkpoint(t), 0)
			if err == nil {
				t.Fatalf("got %q", line)
			}
			if n := server.Hits() - before; n > attempts {
				t.Errorf("it was asked %d times", n)
			}
			if strings.Contains(err.Error(), "html") || strings.Contains(err.Error(), "differs") {
				t.Errorf("the error repeats what the witness says: %v", err)
			}
		})
	}
}

func TestClient_EndsWithItsContext(t *testing.T) {
	server, w := place(t)
	l, c := newLog(t), client(t)
	l.grow(t, "record", 3)
	hang := make(chan struct{})
	server.Answer(func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-hang:
		case <-req.Context().Done():
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Cosign(ctx, w, l.checkpoint(t), 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	close(hang)
}

// Every answer is an error or a valid cosignature of this text by the policy's key.
func FuzzAnswer(f *testing.F) {
	l := newLog(f)
	l.grow(f, "record", 3)
	cp := l.checkpoint(f)
	server, w := place(f)
	server.Watch(f, origin, l.vkey)
	c := NewClient()
	good, err := c.Cosign(f.Context(), w, cp, 0)
	c.Close()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(200, sizeType, good)
	f.Add(200, "", append([]byte("— other AAAAAAA=\n"), good...))
	f.Add(409, sizeType, []byte("12\n"))
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		a := answer{status: status, contentType: kind, body: body}
		line, err := a.cosignature(w, cp.Note)
		if err == nil && string(line) != string(good) {
			t.Errorf("got %q, want %q or an error", line, good)
		}
		if n, err := a.size(); err == nil && fmt.Sprintf("%d\n", n) != string(body) {
			t.Errorf("got %d from %q", n, body)
		}
	})
}
