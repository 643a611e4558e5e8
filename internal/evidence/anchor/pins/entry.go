package pins

import (
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// AnyOrigin and AnyDir match every origin and every data directory.
const (
	AnyOrigin = "*"
	AnyDir    = "-"
)

// Entry is a key that the user has seen.
type Entry struct {
	Origin string // of a ledger, or [AnyOrigin]
	Dir    string // absolute path, or [AnyDir]
	Key    string // as [Canonical] returns it
	Seen   time.Time
}

// DirOf returns the absolute path of dataDir, as [Entry.Dir] stores it.
func DirOf(dataDir string) (string, error) {
	dir, err := filepath.Abs(dataDir)
	if err != nil {
		return "", fmt.Errorf("pinned keys: %w", err)
	}
	return dir, nil
}

// Canonical rewrites a verifier key to the form of [Entry.Key], so that equal keys have equal
// texts.
func Canonical(key string) (string, error) {
	v, text, err := ledger.ParseVerifier(key)
	if err != nil {
		return "", err
	}
	parts := strings.SplitN(text, "+", 3) // name, hash, key
	key64, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil {
		return "", fmt.Errorf("verifier key: %w", err)
	}
	return ledger.KeyID(v) + "+" + base64.StdEncoding.EncodeToString(key64), nil
}

// String returns the entry as a line of the file.
func (e Entry) String() string {
	dir := e.Dir
	if dir != AnyDir {
		dir = strconv.Quote(dir)
	}
	return fmt.Sprintf("%s %s %s %s", e.Origin, dir, e.Key, e.Seen.UTC().Format(time.RFC3339))
}

// ParseEntry parses a line of the file of pinned keys. It accepts only lines that [Entry.String]
// writes. Otherwise two different lines could mean the same entry, and [Pin] would miss one.
func ParseEntry(line string) (e Entry, err error) {
	origin, rest, ok := strings.Cut(line, " ")
	if !ok {
		return e, errors.New("want origin, data directory, key and time")
	}
	if !isOrigin(origin) {
		return e, errors.New("the origin is not one of a ledger")
	}
	e.Origin, e.Dir = origin, AnyDir
	behind, ok := strings.CutPrefix(rest, AnyDir+" ")
	if !ok {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return Entry{}, errors.New("the data directory is not quoted")
		}
		if e.Dir, err = strconv.Unquote(quoted); err != nil {
			return Entry{}, errors.New("the data directory is not quoted")
		}
		behind = strings.TrimPrefix(rest[len(quoted):], " ")
	}
	fields := strings.Split(behind, " ")
	if len(fields) != 2 {
		return Entry{}, errors.New("want origin, data directory, key and time")
	}
	if e.Key, err = Canonical(fields[0]); err != nil {
		return Entry{}, err
	}
	if e.Seen, err = time.Parse(time.RFC3339, fields[1]); err != nil {
		return Entry{}, errors.New("the time is not RFC 3339")
	}
	if e.Seen = e.Seen.UTC(); e.String() != line {
		return Entry{}, errors.New("not in canonical form")
	}
	return e, nil
}

func isOrigin(s string) bool {
	if s == AnyOrigin {
		return true
	}
	_, token, _ := strings.Cut(s, "/")
	tenant, err := subjects.ParseToken(token)
	if err != nil {
		return false
	}
	origin, err := ledger.Origin(tenant)
	return err == nil && origin == s
}
