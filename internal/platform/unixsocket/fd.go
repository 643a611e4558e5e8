// Package unixsocket connects to Unix sockets without package net, which costs a short process half
// a millisecond.
package unixsocket

import (
	"errors"
	"io"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// FD reads and writes a file descriptor, with an optional deadline. The zero FD is stdin.
type FD struct {
	number int
	until  time.Time
}

// Connect connects to the Unix socket at path.
func Connect(path string) (*FD, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	unix.CloseOnExec(fd)
	if err = unix.SetNonblock(fd, true); err == nil {
		err = retry(func() error { return unix.Connect(fd, &unix.SockaddrUnix{Name: path}) })
	}
	if err != nil {
		return nil, &os.PathError{Op: "connect", Path: path, Err: errors.Join(err, unix.Close(fd))}
	}
	return &FD{number: fd}, nil
}

// SetDeadline makes later reads and writes fail at a time with [os.ErrDeadlineExceeded].
func (f *FD) SetDeadline(until time.Time) { f.until = until }

// Read implements [io.Reader].
func (f *FD) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err = f.do("read", unix.POLLIN, p, unix.Read)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write implements [io.Writer].
func (f *FD) Write(p []byte) (n int, err error) {
	for n < len(p) {
		more, err := f.do("write", unix.POLLOUT, p[n:], unix.Write)
		if err != nil {
			return n, err
		}
		n += more
	}
	return n, nil
}

func (f *FD) do(name string, event int16, p []byte, call func(int, []byte) (int, error)) (n int, err error) {
	for {
		if err := f.wait(event); err != nil {
			return 0, err
		}
		err = retry(func() error {
			n, err = call(f.number, p)
			return err
		})
		switch {
		case errors.Is(err, unix.EAGAIN):
		case err != nil:
			return 0, os.NewSyscallError(name, err)
		default:
			return n, nil
		}
	}
}

func (f *FD) wait(event int16) error {
	for {
		milliseconds := -1
		if !f.until.IsZero() {
			left := time.Until(f.until)
			if left <= 0 {
				return os.ErrDeadlineExceeded
			}
			milliseconds = int(min((left+time.Millisecond-1)/time.Millisecond, math.MaxInt32))
		}
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(f.number), Events: event}}, milliseconds)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return os.NewSyscallError("poll", err)
		case ready > 0:
			return nil
		}
	}
}

// Close closes the descriptor.
func (f *FD) Close() error { return os.NewSyscallError("close", unix.Close(f.number)) }

func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
