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
	// breakerPause is how long clients avoid a publisher that has not answered in time.
	breakerPause = time.Second
	// breakerAge is how long clients remember that a publisher has not answered in time.
	breakerAge = 10 * time.Minute

	// glance limits the wait for a local publisher during breakerPause. A publisher that works
	// answers sooner.
	glance = 50 * time.Millisecond
	// distant limits the wait for a remote publisher after breakerPause.
	distant = time.Second
)

// ErrBroken means that the publisher hung and is not asked now.
var ErrBroken = errors.New("publisher did not answer, and is not asked again for a moment")

// Breaker remembers in a file that a publisher hangs, so that only one decision waits for the whole
// timeout. The agent's user can write the file, so it only shortens waits for a publisher at a URL.
type Breaker struct {
	file         string
	pause, probe time.Duration // limits of the wait during the pause and after it
	now          func() time.Time
}

// BreakerOf returns the Breaker of a publisher. An empty url means the publisher of the data
// directory.
func BreakerOf(dataDir, url string) Breaker {
	b := Breaker{file: filepath.Join(dataDir, "publisher.hung"), probe: QuickResponse, now: time.Now}
	if url == "" {
		return b
	}
	sum := fnv.New64a() // linking a cryptographic hash costs each hook command 0.2 ms
	_, _ = sum.Write([]byte(url))
	b.file = filepath.Join(dataDir, "publisher-"+strconv.FormatUint(sum.Sum64(), 16)+".hung")
	b.pause = glance
	if strings.HasPrefix(url, "http") {
		b.pause, b.probe = QuickResponse, distant
	}
	return b
}

// IsOpen reports whether the publisher hung lately.
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

// Wait returns how long to wait for the start of a response, at most wait. ErrBroken means not to
// ask.
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

// Hung remembers a hang. It ignores errors, because a Breaker that forgets costs only time.
func (b Breaker) Hung() {
	_ = os.WriteFile(b.file, []byte("The publisher did not answer a hook.\n"), 0o600)
	_ = os.Chtimes(b.file, time.Time{}, b.now())
}

// Answered forgets a hang.
func (b Breaker) Answered() { _ = os.Remove(b.file) }
