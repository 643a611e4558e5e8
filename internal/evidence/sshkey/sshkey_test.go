package sshkey_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/sshkey"
	"github.com/hooktrail/hooktrail/internal/testkit/sshagent"
)

func verifierOf(tb testing.TB, fingerprint string) string {
	tb.Helper()
	public, err := sshkey.Find(fingerprint)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := note.NewEd25519VerifierKey("jane", public)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func opens(tb testing.TB, signer note.Signer, verifier string) error {
	tb.Helper()
	signed, err := note.Sign(&note.Note{Text: "text\n"}, signer)
	if err != nil {
		return err
	}
	v, err := note.NewVerifier(verifier)
	if err != nil {
		tb.Fatal(err)
	}
	_, err = note.Open(signed, note.VerifierList(v))
	return err
}

func TestSigner_RealAgent(t *testing.T) {
	a := sshagent.Start(t)
	if _, err := sshkey.Find(""); !errors.Is(err, sshkey.ErrAgent) || !strings.Contains(err.Error(), "ssh-add") {
		t.Errorf("empty agent: %v", err)
	}
	first, path := a.Add("one")
	verifier := verifierOf(t, "")
	s, err := sshkey.NewSigner(verifier)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Ready(), opens(t, s, verifier)); err != nil {
		t.Fatal(err)
	}
	// The key file gives the same signature.
	inFile, text, err := sshkey.ReadFile(path, "jane")
	if err != nil || text != verifier {
		t.Fatalf("file: %s, %v, want %s", text, err, verifier)
	}
	if err := opens(t, inFile, verifier); err != nil {
		t.Error(err)
	}
	second, _ := a.Add("two")
	if _, err := sshkey.Find(""); err == nil || !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), second) {
		t.Errorf("two keys: %v", err)
	}
	if verifierOf(t, first) != verifier || verifierOf(t, second) == verifier {
		t.Error("fingerprints name other keys")
	}
	a.Lock()
	if err := opens(t, s, verifier); !errors.Is(err, sshkey.ErrAgent) || s.Ready() == nil {
		t.Errorf("locked: %v", err)
	}
	a.Unlock()
	if err := opens(t, s, verifier); err != nil {
		t.Errorf("unlocked: %v", err)
	}
	a.Kill()
	if err := opens(t, s, verifier); !errors.Is(err, sshkey.ErrAgent) || !strings.Contains(err.Error(), "start the agent") {
		t.Errorf("killed: %v", err)
	}
	a.Run()
	if err := opens(t, s, verifier); !errors.Is(err, sshkey.ErrAgent) {
		t.Errorf("started without keys: %v", err)
	}
	a.Add("one")
	if err := opens(t, s, verifier); err != nil {
		t.Errorf("added again: %v", err)
	}
}

// liar is an agent that signs other bytes, or with another key.
type liar struct {
	agent.Agent

	sign func(key ssh.PublicKey, data []byte) (*ssh.Signature, error)
}

func (l liar) Sign(key ssh.PublicKey, data []byte) (*ssh.Signature, error) { return l.sign(key, data) }

func serve(tb testing.TB, handle func(net.Conn)) {
	tb.Helper()
	dir, err := os.MkdirTemp("", "agent") //nolint:usetesting // a socket has a short path
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			handle(conn)
			_ = conn.Close()
		}
	}()
	tb.Cleanup(func() {
		_ = listener.Close()
		<-done
		_ = os.RemoveAll(dir)
	})
	if t, ok := tb.(*testing.T); ok {
		t.Setenv(sshkey.SocketVariable, filepath.Join(dir, "s"))
	}
}

//guarantee:signer-absent
func TestSigner_LyingAgent(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewEd25519VerifierKey("jane", public)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sshkey.NewSigner(verifier)
	if err != nil {
		t.Fatal(err)
	}
	as := func(format string, blob []byte) func(ssh.PublicKey, []byte) (*ssh.Signature, error) {
		return func(ssh.PublicKey, []byte) (*ssh.Signature, error) {
			return &ssh.Signature{Format: format, Blob: blob}, nil
		}
	}
	for name, sign := range map[string]func(ssh.PublicKey, []byte) (*ssh.Signature, error){
		"other key":  as("ssh-ed25519", ed25519.Sign(other, []byte("text\n"))),
		"other text": as("ssh-ed25519", ed25519.Sign(private, []byte("another\n"))),
		"format":     as("ssh-rsa", ed25519.Sign(private, []byte("text\n"))),
		"short":      as("ssh-ed25519", []byte{1, 2}),
		"empty":      as("", nil),
	} {
		serve(t, func(c net.Conn) { _ = agent.ServeAgent(liar{agent.NewKeyring(), sign}, c) })
		if err := opens(t, s, verifier); !errors.Is(err, sshkey.ErrAgent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, garbage := range []string{"", "\x00", "\xff\xff\xff\xff", "\x00\x00\x00\x01\x05", "\x00\x00\x00\x05\x0e\x00\x00\x00\x09", "HTTP/1.1 200 OK\r\n\r\n"} {
		serve(t, func(c net.Conn) {
			buf := make([]byte, 1024)
			_, _ = c.Read(buf)
			_, _ = c.Write([]byte(garbage))
		})
		if err := opens(t, s, verifier); !errors.Is(err, sshkey.ErrAgent) {
			t.Errorf("%q: %v", garbage, err)
		}
		if _, err := sshkey.Find(""); !errors.Is(err, sshkey.ErrAgent) {
			t.Errorf("list %q: %v", garbage, err)
		}
	}
}

//guarantee:signer-absent
func TestSigner_SlowAgent(t *testing.T) {
	a := sshagent.Start(t)
	a.Add("one")
	verifier := verifierOf(t, "")
	s, err := sshkey.NewSigner(verifier)
	if err != nil {
		t.Fatal(err)
	}
	s.SetLimit(50 * time.Millisecond)
	a.Signal(syscall.SIGSTOP)
	if err := opens(t, s, verifier); !errors.Is(err, sshkey.ErrAgent) || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("stopped: %v", err)
	}
	a.Signal(syscall.SIGCONT)
	s.SetLimit(10 * time.Second)
	if err := opens(t, s, verifier); err != nil {
		t.Errorf("continued: %v", err)
	}
}

func TestParsePublic(t *testing.T) {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
	got, comment, err := sshkey.ParsePublic(line + " jane@host\n")
	if err != nil || !got.Equal(public) || comment != "jane@host" {
		t.Errorf("got %x, %q, %v", got, comment, err)
	}
	for _, bad := range []string{"", "ssh-ed25519", "hello", line + "\n" + line, "sk-ssh-ed25519@openssh.com AAAA"} {
		if _, _, err := sshkey.ParsePublic(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func FuzzParsePublic(f *testing.F) {
	f.Add("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBeDo8TOdVrm6gVEZhRdTAmOwqQpaj2O2Nw4aWkRJhLn jane")
	f.Add("from=\"x\" ssh-rsa AAAA")
	f.Fuzz(func(t *testing.T, line string) {
		public, _, err := sshkey.ParsePublic(line)
		if err != nil {
			return
		}
		key, err := ssh.NewPublicKey(public)
		if err != nil || !strings.Contains(line, strings.Fields(string(ssh.MarshalAuthorizedKey(key)))[1][:40]) {
			t.Errorf("%q: got %x, %v", line, public, err)
		}
	})
}
