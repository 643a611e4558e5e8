package hookclient

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

const (
	// breakerPause is how long a hung publisher is not asked again.
	breakerPause = time.Second
	// breakerProbe limits the wait for a publisher that hung before. It can be short, because a
	// working publisher starts its response at once, however long its hooks take.
	breakerProbe = quickResponse
	// breakerAge is how long a hang counts.
	breakerAge = 10 * time.Minute
)

var errBroken = errors.New("publisher did not answer, and is not asked again for a moment")

// breaker remembers in a file that the publisher of a data directory hangs, so that only
// one decision waits for the whole timeout. Publishers at a URL have none, because the
// user of the agent could write the file. In a data directory that user could also
// remove the socket.
type breaker struct {
	file string // empty for none
	now  func() time.Time
}

func (p *publisherClient) breaker() breaker {
	if p.url != "" {
		return breaker{}
	}
	return breaker{filepath.Join(p.dataDir, "publisher.hung"), time.Now}
}

// wait returns how long to wait for the start of a response. It fails if the publisher
// should not be asked now.
func (b breaker) wait(wait time.Duration) (time.Duration, error) {
	if b.file == "" {
		return wait, nil
	}
	info, err := os.Lstat(b.file)
	if err != nil {
		return wait, nil //nolint:nilerr // without the file the publisher does not hang
	}
	switch age := b.now().Sub(info.ModTime()); {
	case age < 0, age > breakerAge:
		return wait, nil
	case age < breakerPause:
		return 0, errBroken
	}
	return min(wait, breakerProbe), nil
}

// hung remembers a hang, and answered forgets it. They ignore errors, because a breaker that
// forgets costs only time.
func (b breaker) hung() {
	if b.file != "" {
		_ = os.WriteFile(b.file, []byte("The publisher did not answer a hook.\n"), 0o600)
		_ = os.Chtimes(b.file, time.Time{}, b.now())
	}
}

func (b breaker) answered() {
	if b.file != "" {
		_ = os.Remove(b.file)
	}
}
