// Package witnesstest runs a C2SP witness for tests. It uses libraries of transparency-dev instead
// of the tested code.
package witnesstest

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/transparency-dev/formats/log"
	cosign "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
)

// A Witness is a running witness server, which stops when the test ends.
type Witness struct {
	VerifierKey string
	URL         string // submission prefix

	signer note.Signer
	web    *httptest.Server

	mu   sync.Mutex // guards logs, say and hits
	logs map[string]*seen
	say  http.HandlerFunc
	hits int
}

type seen struct {
	key  note.Verifier
	size uint64
	root []byte
}

// New starts a witness with the given name and a new key.
func New(tb testing.TB, name string) *Witness {
	tb.Helper()
	secret, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		tb.Fatal(err)
	}
	w := &Witness{logs: make(map[string]*seen)}
	if w.signer, err = cosign.NewSignerForCosignatureV1(secret); err != nil {
		tb.Fatal(err)
	}
	if w.VerifierKey, err = cosign.VKeyToCosignatureV1(public); err != nil {
		tb.Fatal(err)
	}
	w.web = httptest.NewServer(w)
	w.URL = w.web.URL + "/submit"
	tb.Cleanup(w.web.Close)
	return w
}

// Watch makes the witness cosign the log with this origin and verifier key.
func (w *Witness) Watch(tb testing.TB, origin, vkey string) {
	tb.Helper()
	key, err := note.NewVerifier(strings.TrimSpace(vkey))
	if err != nil {
		tb.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logs[origin] = &seen{key: key}
}

// Answer makes handler answer all requests instead of the witness. Answer(nil) restores the
// witness.
func (w *Witness) Answer(handler http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.say = handler
}

// Size returns how many leaves of a log the witness has cosigned.
func (w *Witness) Size(origin string) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.logs[origin]; l != nil {
		return l.size
	}
	return 0
}

// Hits returns the number of requests so far.
func (w *Witness) Hits() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hits
}

// ServeHTTP answers one request.
func (w *Witness) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	w.mu.Lock()
	w.hits++
	say := w.say
	w.mu.Unlock()
	if say != nil {
		say(rw, req)
		return
	}
	if req.Method != http.MethodPost || req.URL.Path != "/submit/add-checkpoint" {
		http.NotFound(rw, req)
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(rw, "read", http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(rw, body)
}

func (w *Witness) add(rw http.ResponseWriter, body []byte) {
	head, signed, ok := bytes.Cut(body, []byte("\n\n"))
	old, hashes, err := parseHead(string(head))
	if !ok || err != nil {
		http.Error(rw, "malformed", http.StatusBadRequest)
		return
	}
	origin, _, _ := strings.Cut(string(signed), "\n")
	l := w.logs[origin]
	if l == nil {
		http.Error(rw, "unknown log", http.StatusNotFound)
		return
	}
	c, _, n, err := log.ParseCheckpoint(signed, origin, l.key)
	switch {
	case err != nil:
		http.Error(rw, "signature", http.StatusForbidden)
	case old > c.Size:
		http.Error(rw, "old is larger", http.StatusBadRequest)
	case old != l.size:
		rw.Header().Set("Content-Type", "text/x.tlog.size")
		rw.WriteHeader(http.StatusConflict)
		fmt.Fprintf(rw, "%d\n", l.size)
	case !l.isContinuedBy(c, hashes):
		http.Error(rw, "it does not continue", http.StatusUnprocessableEntity)
	default:
		w.cosign(rw, l, c, n)
	}
}

func parseHead(head string) (old uint64, hashes [][]byte, err error) {
	lines := strings.Split(head, "\n")
	old, err = strconv.ParseUint(strings.TrimPrefix(lines[0], "old "), 10, 63)
	if err != nil || lines[0] != fmt.Sprintf("old %d", old) || len(lines) > 64 {
		return 0, nil, errors.New("size")
	}
	for _, line := range lines[1:] {
		h, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(h) != 32 {
			return 0, nil, errors.New("hash")
		}
		hashes = append(hashes, h)
	}
	return old, hashes, nil
}

func (l *seen) isContinuedBy(c *log.Checkpoint, hashes [][]byte) bool {
	if l.size == 0 {
		return len(hashes) == 0
	}
	return proof.VerifyConsistency(rfc6962.DefaultHasher, l.size, c.Size, hashes, l.root, c.Hash) == nil
}

func (w *Witness) cosign(rw http.ResponseWriter, l *seen, c *log.Checkpoint, n *note.Note) {
	cosigned, err := note.Sign(&note.Note{Text: n.Text}, w.signer)
	if err != nil {
		http.Error(rw, "sign", http.StatusInternalServerError)
		return
	}
	l.size, l.root = c.Size, c.Hash
	_, line, _ := bytes.Cut(cosigned, []byte("\n\n"))
	_, _ = rw.Write(line)
}
