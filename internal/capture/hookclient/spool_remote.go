package hookclient

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

const remoteEnding = ".remote"

// maxSpooled limits the number of files with events for a remote publisher that cannot be reached.
const maxSpooled = 20_000

var errSpoolFull = errors.New("the folder of spool files is full")

// spoolRemote writes events to a file. A later hook command sends the file to the publisher at the
// given URL. If the folder is full, spoolRemote returns [errSpoolFull].
func spoolRemote(dataDir, url string, list []events.Event) error {
	entries, err := os.ReadDir(SpoolDir(dataDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("spool: %w", err)
	}
	if len(entries) >= maxSpooled {
		return fmt.Errorf("%s has %d files: %w: new events go to the outbox of the data directory; start the publisher, then run publisher outbox flush --publisher %s",
			SpoolDir(dataDir), len(entries), errSpoolFull, withoutSecrets(url))
	}
	return spool(dataDir, url, list)
}

func remoteSuffix(text string) string {
	sum := sha256.Sum256([]byte(withoutSecrets(text)))
	return "." + hex.EncodeToString(sum[:6]) + remoteEnding
}

func withoutSecrets(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return strings.TrimSuffix(u.String(), "/")
}

// Spooled counts the events that wait in spool files for one publisher or for the outbox.
type Spooled struct {
	Publisher string // address of the publisher, or empty for the outbox of the data directory
	Events    uint64
	Bytes     int64
	Oldest    time.Time // time of the oldest event
}

// Waiting counts the events in the spool files of a data directory. It skips damaged files and
// files that the publisher refused.
func Waiting(dataDir string) (list []*Spooled, err error) {
	entries, err := os.ReadDir(SpoolDir(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	found := map[string]*Spooled{}
	for _, entry := range entries {
		remote := strings.HasSuffix(entry.Name(), remoteEnding)
		if !entry.Type().IsRegular() || !remote && !strings.HasSuffix(entry.Name(), spoolSuffix) {
			continue
		}
		text, failed := os.ReadFile(filepath.Join(SpoolDir(dataDir), entry.Name()))
		switch {
		case errors.Is(failed, fs.ErrNotExist):
			continue
		case failed != nil:
			err = errors.Join(err, fmt.Errorf("spool: %w", failed))
			continue
		}
		to := ""
		if remote {
			first, rest, _ := bytes.Cut(text, []byte("\n"))
			to, text = string(first), rest
		}
		s := found[to]
		if s == nil {
			s = &Spooled{Publisher: to}
			found[to], list = s, append(list, s)
		}
		s.add(text)
	}
	return list, err
}

func (s *Spooled) add(text []byte) {
	s.Bytes += int64(len(text))
	for line := range bytes.Lines(text) {
		s.Events++
		if e, err := events.Decode(bytes.TrimSpace(line)); err == nil && (s.Oldest.IsZero() || e.Time.Before(s.Oldest)) {
			s.Oldest = e.Time
		}
	}
}
