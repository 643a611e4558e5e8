package ledger

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const originPrefix = "hooktrail/"

const maxCheckpointBytes = 64 << 10

// Position is the place in the stream up to which a ledger has read.
type Position struct {
	// Epoch is the number of the stream, because a stream can be replaced. The first stream of the
	// ledger has the number 1.
	Epoch    uint64
	Stream   time.Time // when the stream was created, UTC
	Sequence uint64    // stream sequence of the tenant's last message that changed the ledger; 0 if there is none
	Hash     events.Hash
}

// After reports whether p is later in the stream than q, or in a later stream.
func (p Position) After(q Position) bool {
	return p.Epoch > q.Epoch || p.Epoch == q.Epoch && p.Sequence > q.Sequence
}

// Checkpoint is a signed statement about which records a ledger has, and how far it has read the
// stream. Its text is a C2SP tlog-checkpoint with extension lines:
//
//	hooktrail/acme
//	91204
//	CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
//	checkpoint 413
//	time 2026-11-20T09:14:07.123456789Z
//	arrivals 91210 xbsO4WQf5CcWVFLmN4HDFbCvS8hq0sCO0RkJdzSmGvk=
//	stream 1 2026-11-01T08:00:00.000000000Z 120331 2cf24dba…
//
// The last two lines are the [Arrivals] and the [Position].
type Checkpoint struct {
	Tenant   string
	Size     int64
	Root     tlog.Hash
	Number   int64     // from 1
	Time     time.Time // auditor's clock; never before the time of an earlier checkpoint
	Arrivals int64     // number of leaves and repetitions
	Digest   tlog.Hash
	Position Position
}

// Origin returns the first line of the tenant's checkpoints, such as "hooktrail/acme".
func Origin(tenant string) (string, error) {
	token, err := subjects.Token(tenant)
	if err != nil {
		return "", fmt.Errorf("tenant id: %w", err)
	}
	return originPrefix + token, nil
}

// TenantOf returns the tenant in the first line of a checkpoint, such as "acme" for
// "hooktrail/acme".
func TenantOf(origin string) (string, error) {
	token, ok := strings.CutPrefix(origin, originPrefix)
	if !ok {
		return "", fmt.Errorf("%w: origin", errCheckpoint)
	}
	tenant, err := subjects.ParseToken(token)
	if err != nil {
		return "", fmt.Errorf("%w: origin: %w", errCheckpoint, err)
	}
	return tenant, nil
}

// Text encodes the checkpoint as the text that is signed.
func (c Checkpoint) Text() (string, error) {
	origin, err := Origin(c.Tenant)
	if err != nil {
		return "", err
	}
	p := c.Position
	return fmt.Sprintf("%s\n%d\n%s\ncheckpoint %d\ntime %s\narrivals %d %s\nstream %d %s %d %s\n",
		origin, c.Size, c.Root, c.Number, c.Time.UTC().Format(timeLayout), c.Arrivals, c.Digest,
		p.Epoch, p.Stream.UTC().Format(timeLayout), p.Sequence, p.Hash), nil
}

// Sign encodes the checkpoint and returns it as a signed note.
func (c Checkpoint) Sign(signer note.Signer) ([]byte, error) {
	text, err := c.Text()
	if err != nil {
		return nil, err
	}
	signed, err := note.Sign(&note.Note{Text: text}, signer)
	if err != nil {
		return nil, fmt.Errorf("sign checkpoint: %w", err)
	}
	return signed, nil
}

// OpenCheckpoint returns the checkpoint in a note that one of the given keys signed. If another key
// signed the note, the error names that key.
func OpenCheckpoint(signed []byte, keys note.Verifiers) (Checkpoint, error) {
	n, err := note.Open(signed, keys)
	if unverified, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
		return Checkpoint{}, fmt.Errorf("open checkpoint: %w: it is signed by %s", err, signers(unverified.Note))
	}
	if err != nil {
		return Checkpoint{}, fmt.Errorf("open checkpoint: %w", err)
	}
	return ParseCheckpoint(n.Text)
}

func signers(n *note.Note) string {
	var names []string
	for _, s := range n.UnverifiedSigs[:min(3, len(n.UnverifiedSigs))] {
		names = append(names, fmt.Sprintf("%s+%08x", s.Name, s.Hash))
	}
	return strings.Join(names, ", ")
}

// ReadCheckpoint reads the checkpoint in a signed note without checking the signatures.
func ReadCheckpoint(signed []byte) (Checkpoint, error) {
	text, _, ok := strings.Cut(string(signed), "\n\n")
	if !ok {
		return Checkpoint{}, fmt.Errorf("%w: not a signed note", errCheckpoint)
	}
	return ParseCheckpoint(text + "\n")
}

// TrimNote leaves one line feed at the end of a signed note. Tools such as jq -r add another, which
// makes the note invalid.
func TrimNote(signed []byte) []byte {
	if signed == nil {
		return nil
	}
	return append(slices.Clip(bytes.TrimRight(signed, " \t\r\n")), '\n')
}

var errCheckpoint = errors.New("not a checkpoint")

// ParseCheckpoint parses the output of [Checkpoint.Text]. Any other text is an error, even if it
// describes the same checkpoint.
func ParseCheckpoint(text string) (Checkpoint, error) {
	var c Checkpoint
	lines := strings.Split(text, "\n")
	if len(text) > maxCheckpointBytes || len(lines) != 8 {
		return c, fmt.Errorf("%w: not seven lines", errCheckpoint)
	}
	var err error
	if c.Tenant, err = TenantOf(lines[0]); err != nil {
		return c, err
	}
	if err := c.parse(lines); err != nil {
		return Checkpoint{}, fmt.Errorf("%w: %w", errCheckpoint, err)
	}
	if again, err := c.Text(); err != nil || again != text {
		return Checkpoint{}, fmt.Errorf("%w: not in canonical form", errCheckpoint)
	}
	return c, nil
}

func (c *Checkpoint) parse(lines []string) error {
	var err error
	if c.Size, err = parseCount(lines[1]); err != nil {
		return fmt.Errorf("size: %w", err)
	}
	if c.Root, err = parseTreeHash(lines[2]); err != nil {
		return fmt.Errorf("root: %w", err)
	}
	number, ok := strings.CutPrefix(lines[3], "checkpoint ")
	if c.Number, err = parseCount(number); err != nil || !ok {
		return errors.New("number")
	}
	if c.Time, err = time.Parse("time "+timeLayout, lines[4]); err != nil {
		return errors.New("time")
	}
	arrivals := strings.Split(lines[5], " ")
	if len(arrivals) != 3 || arrivals[0] != "arrivals" {
		return errors.New("arrivals")
	}
	if c.Arrivals, err = parseCount(arrivals[1]); err != nil {
		return fmt.Errorf("arrivals: %w", err)
	}
	if c.Digest, err = parseTreeHash(arrivals[2]); err != nil {
		return fmt.Errorf("arrivals: %w", err)
	}
	return c.Position.parse(lines[6])
}

func (p *Position) parse(line string) error {
	fields := strings.Split(line, " ")
	if len(fields) != 5 || fields[0] != "stream" {
		return errors.New("stream")
	}
	var err, errs error
	p.Epoch, err = strconv.ParseUint(fields[1], 10, 63)
	errs = errors.Join(errs, err)
	p.Stream, err = time.Parse(timeLayout, fields[2])
	errs = errors.Join(errs, err)
	p.Sequence, err = strconv.ParseUint(fields[3], 10, 63)
	errs = errors.Join(errs, err)
	p.Hash, err = events.ParseHash(fields[4])
	if errors.Join(errs, err) != nil {
		return errors.New("stream")
	}
	return nil
}

func parseCount(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, errors.New("not a count")
	}
	return n, nil
}

func parseTreeHash(s string) (tlog.Hash, error) {
	var h tlog.Hash
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b) != len(h) {
		return h, errors.New("not a hash in base64")
	}
	copy(h[:], b)
	return h, nil
}

// IsOnlySigned reports whether a note has exactly one signature and the encoding that Sign of
// package note gives. n is the result of [note.Open], which also accepts other notes.
func IsOnlySigned(signed []byte, n *note.Note) bool {
	return len(n.Sigs) == 1 && isAsWritten(signed, n)
}

func isAsWritten(signed []byte, n *note.Note) bool {
	if len(n.UnverifiedSigs) > 0 || slices.ContainsFunc(n.Sigs, func(s note.Signature) bool { return !isCanonical(s.Base64) }) {
		return false
	}
	want, err := note.Sign(&note.Note{Text: n.Text, Sigs: n.Sigs})
	return err == nil && bytes.Equal(want, signed)
}

func isCanonical(b64 string) bool {
	b, err := base64.StdEncoding.DecodeString(b64)
	return err == nil && base64.StdEncoding.EncodeToString(b) == b64
}
