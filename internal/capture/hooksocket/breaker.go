package hooksocket

import (
	"errors"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	breakerPause = time.Second
	// breakerAge is how long clients remember that a publisher has not answered in time.
	breakerAge = 10 * time.Minute

	// A working publisher on this machine answers within localWait.
	localWait  = 50 * time.Millisecond
	remoteWait = time.Second
)

// ErrBroken means that a request was not sent, because the publisher did not answer an earlier
// request in time.
var ErrBroken = errors.New("publisher did not answer, and is not asked again for a moment")

// Breaker remembers in a file that a publisher does not answer. Later hook calls then do not wait
// for the whole timeout.
//
// The user of the agent can write the file. For a publisher at a URL, the Breaker therefore only
// shortens the wait and never skips the request.
type Breaker struct {
	file         string
	pause, probe time.Duration // limits of the wait during the pause and after it
	now          func() time.Time
}

// BreakerOf returns the Breaker for the publisher at a URL. With an empty URL, it returns the
// Breaker for the publisher that runs on the data directory.
func BreakerOf(dataDir, url string) Breaker {
	b := Breaker{file: filepath.Join(dataDir, "publisher.hung"), probe: QuickResponse, now: time.Now}
	if url == "" {
		return b
	}
	sum := fnv.New64a() // linking a cryptographic hash costs each hook command 0.2 ms
	_, _ = sum.Write([]byte(url))
	b.file = filepath.Join(dataDir, "publisher-"+strconv.FormatUint(sum.Sum64(), 16)+".hung")
	b.pause = localWait
	if strings.HasPrefix(url, "http") {
		b.pause, b.probe = QuickResponse, remoteWait
	}
	return b
}

// IsOpen reports whether the publisher recently did not answer in time.
func (b Breaker) IsOpen() bool {
	_, open := b.age()
	return open
}

func (b Breaker) age() (age time.Duration, open bool) {
	info, err := os.Lstat(b.file)
	if err != nil {
		return 0, false
	}
	age = b.now().Sub(info.ModTime())
	return age, age >= 0 && age <= breakerAge
}

// Wait returns how long a client waits for the beginning of a response, which is at most the given
// time. It returns ErrBroken if the client must not send the request.
func (b Breaker) Wait(wait time.Duration) (time.Duration, error) {
	switch age, open := b.age(); {
	case !open:
		return wait, nil
	case age >= breakerPause:
		return min(wait, b.probe), nil
	case b.pause > 0:
		return min(wait, b.pause), nil
	}
	return 0, ErrBroken
}

// Hung records in the file that the publisher does not answer. Write errors are ignored, because a
// missing record only costs time.
func (b Breaker) Hung() {
	_ = os.WriteFile(b.file, []byte("The publisher did not answer a hook.\n"), 0o600)
	_ = os.Chtimes(b.file, time.Time{}, b.now())
}

// Answered forgets a hang.
func (b Breaker) Answered() { _ = os.Remove(b.file) }
