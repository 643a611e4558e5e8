package witness

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
)

const (
	addCheckpoint = "/add-checkpoint"
	sizeType      = "text/x.tlog.size"

	maxAnswerBytes = 64 << 10
	attempts       = 3                // per checkpoint, if the witness reports new sizes
	idle           = 90 * time.Second // closes idle connections
)

var (
	// ErrForked means that the checkpoint does not continue the tree that the witness has cosigned.
	ErrForked = errors.New("the witness has cosigned another history of this log")
	// ErrUnknownLog means that the witness does not know the log or its key.
	ErrUnknownLog = errors.New("the witness does not know this log by this key: register its origin and verifier key there")
)

// A Checkpoint is a signed checkpoint for a witness to cosign.
type Checkpoint struct {
	Note []byte // signed by the log
	Size int64  // leaves in its tree
	// Prove returns the proof that the tree continues an older tree with size leaves.
	Prove func(ctx context.Context, size int64) ([]tlog.Hash, error)
}

// A Client submits checkpoints to witnesses. It is safe for concurrent use.
type Client struct{ http *http.Client }

// NewClient returns a client that the caller must close.
func NewClient() *Client {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, IdleConnTimeout: idle, MaxIdleConnsPerHost: 4,
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
	}
	return &Client{http: &http.Client{
		Transport: transport,
		// Redirects are not followed, because only the address in the policy may answer.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Cosign submits a checkpoint to a witness and returns the witness's cosignature as a line of a
// note. oldSize is the size of the last checkpoint that the witness has cosigned, or 0. Errors
// that wrap [ErrForked] or [ErrUnknownLog] need an operator.
func (c *Client) Cosign(ctx context.Context, w transparency.Witness, cp Checkpoint, oldSize int64) (line []byte, err error) {
	for range attempts {
		if oldSize > cp.Size {
			return nil, fmt.Errorf("%w: of %d leaves, and this checkpoint has %d", ErrForked, oldSize, cp.Size)
		}
		var proof []tlog.Hash
		if oldSize > 0 && oldSize < cp.Size {
			if proof, err = cp.Prove(ctx, oldSize); err != nil {
				return nil, fmt.Errorf("prove that the checkpoint continues %d leaves: %w", oldSize, err)
			}
		}
		answer, err := c.post(ctx, w, request(oldSize, proof, cp.Note))
		if err != nil {
			return nil, err
		}
		if answer.status != http.StatusConflict {
			return answer.cosignature(w, cp.Note)
		}
		if oldSize, err = answer.size(); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the witness keeps reporting another size: another auditor may be submitting checkpoints of this log")
}

func request(old int64, proof []tlog.Hash, signed []byte) []byte {
	b := fmt.Appendf(nil, "old %d\n", old)
	for _, h := range proof {
		b = append(base64.StdEncoding.AppendEncode(b, h[:]), '\n')
	}
	b = append(b, '\n')
	return append(b, signed...)
}

type answer struct {
	status      int
	contentType string
	body        []byte
}

func (c *Client) post(ctx context.Context, w transparency.Witness, body []byte) (a answer, err error) {
	url := strings.TrimRight(w.URL, "/") + addCheckpoint
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return a, fmt.Errorf("witness: %w", err)
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	resp, err := c.http.Do(req)
	if err != nil {
		return a, fmt.Errorf("witness is unreachable: %w", err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	a = answer{status: resp.StatusCode, contentType: resp.Header.Get("Content-Type")}
	if a.body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes+1)); err != nil {
		return a, fmt.Errorf("read the answer of the witness: %w", err)
	}
	if len(a.body) > maxAnswerBytes {
		return a, fmt.Errorf("the answer of the witness is longer than %d bytes", maxAnswerBytes)
	}
	return a, nil
}

func (a answer) size() (int64, error) {
	kind, _, _ := strings.Cut(a.contentType, ";")
	text, ok := strings.CutSuffix(string(a.body), "\n")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !ok || n < 0 || strconv.FormatInt(n, 10) != text {
		if strings.TrimSpace(kind) != sizeType { // answer of older versions of the format
			return 0, fmt.Errorf("%w: it answers with a conflict", ErrForked)
		}
		return 0, errors.New("the witness does not report a valid size")
	}
	return n, nil
}

func (a answer) cosignature(w transparency.Witness, signed []byte) ([]byte, error) {
	switch a.status {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusForbidden:
		return nil, fmt.Errorf("%w (status %d)", ErrUnknownLog, a.status)
	case http.StatusUnprocessableEntity:
		return nil, fmt.Errorf("%w: the tree does not continue what it has seen", ErrForked)
	default:
		return nil, fmt.Errorf("the witness answers with status %d", a.status)
	}
	n, err := note.Open(append(bytes.Clone(signed), a.body...), note.VerifierList(w.Verifier))
	// The answer may only add signatures. It must not add text to the checkpoint.
	if err != nil || !strings.HasPrefix(string(signed), n.Text+"\n") {
		// Do not quote the untrusted answer.
		return nil, errors.New("the witness answers without a valid cosignature of its key in the policy")
	}
	return []byte("— " + n.Sigs[0].Name + " " + n.Sigs[0].Base64 + "\n"), nil
}
