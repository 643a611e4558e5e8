package unixsocket

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func listen(t *testing.T, dir string) net.Listener {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// A large text goes to the server and back, through a short and a long path.
func TestFD_Echo(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("d", 100))
	for _, dir := range []string{t.TempDir(), long} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		listening, done, err := Path(dir, "s")
		if err != nil {
			t.Skip(err)
		}
		l, err := net.Listen("unix", listening)
		if err != nil {
			t.Fatal(err)
		}
		done()
		go func() {
			conn, err := l.Accept()
			if err == nil {
				_, _ = io.CopyN(conn, conn, 1<<20)
				_ = conn.Close()
			}
		}()
		path, done, err := Path(dir, "s")
		if err != nil {
			t.Fatal(err)
		}
		f, err := Connect(path)
		done()
		if err != nil {
			t.Fatal(err)
		}
		f.SetDeadline(time.Now().Add(time.Minute))
		sent := bytes.Repeat([]byte("hooktrail "), 1<<20/10+1)[:1<<20]
		wrote := make(chan error, 1)
		go func() {
			_, err := f.Write(sent)
			wrote <- err
		}()
		got, err := io.ReadAll(f)
		if err = errors.Join(err, <-wrote, f.Close(), l.Close()); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%s: got %d bytes, %v", dir, len(got), err)
		}
	}
}

// A server that neither reads nor answers ends with the deadline.
func TestFD_Deadline(t *testing.T) {
	dir := t.TempDir()
	listen(t, dir)
	f, err := Connect(filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	f.SetDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
	f.SetDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := f.Write(make([]byte, 16<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("write: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestConnect_Fails(t *testing.T) {
	dir := t.TempDir()
	if _, err := Connect(filepath.Join(dir, "s")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a socket: %v", err)
	}
	l := listen(t, dir)
	if unix, ok := l.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Connect(filepath.Join(dir, "s")); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("without a server: %v", err)
	}
}

// A server that closes the connection is an end for a reader and an error for a writer.
func TestFD_Closed(t *testing.T) {
	dir := t.TempDir()
	l := listen(t, dir)
	f, err := Connect(filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read: %v", err)
	}
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("write: no error")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
