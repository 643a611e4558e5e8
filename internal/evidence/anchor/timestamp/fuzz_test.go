package timestamp

import (
	"bytes"
	"crypto/x509"
	"os"
	"testing"
)

func testdata(f *testing.F) (der []byte, roots *x509.CertPool) {
	f.Helper()
	der, err := os.ReadFile("testdata/token.der")
	if err != nil {
		f.Fatal(err)
	}
	pem, err := os.ReadFile("testdata/ca.pem")
	if err == nil {
		roots, err = Roots(pem)
	}
	if err != nil {
		f.Fatal(err)
	}
	return der, roots
}

// FuzzParse checks that nobody can make another token of the TSA: if a token verifies, its
// content is the one that the TSA signed.
func FuzzParse(f *testing.F) {
	der, roots := testdata(f)
	genuine, err := Parse(der)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := genuine.Verify(roots); err != nil {
		f.Fatal(err)
	}
	f.Add(der)
	f.Add(der[:len(der)-1])
	f.Add([]byte{0x30, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		token, err := Parse(data)
		if err != nil {
			return
		}
		if token.Serial == nil || token.Accuracy < 0 || token.Accuracy > maxAccuracy || token.Latest().Before(token.Time) || token.hash.Size() == 0 {
			t.Errorf("got %+v", token.Info)
		}
		if _, err := token.Verify(roots); err == nil && !bytes.Equal(token.content, genuine.content) {
			t.Errorf("a forged token is good: %+v", token.Info)
		}
	})
}

// FuzzAnswer checks that a token from an answer is a part of it, and that no answer fits a
// request that the TSA has not seen.
func FuzzAnswer(f *testing.F) {
	der, _ := testdata(f)
	granted := []byte{0x30, 0x03, 0x02, 0x01, 0x00}
	n := len(granted) + len(der)
	f.Add(append(append([]byte{0x30, 0x82, byte(n >> 8), byte(n)}, granted...), der...))
	f.Add([]byte{0x30, 9, 0x30, 7, 2, 1, 2, 3, 2, 5, 0x20})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, answer []byte) {
		if token, err := openAnswer(answer); err == nil && (!bytes.HasSuffix(answer, token) || len(token) == 0) {
			t.Errorf("got a token that is not there: %x", token)
		}
		r, err := NewRequest([]byte("data"))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Open(answer); err == nil {
			t.Error("an answer fits another request")
		}
	})
}

// FuzzParseStored checks that parsing a stored time stamp and encoding it gives the same text.
func FuzzParseStored(f *testing.F) {
	der, _ := testdata(f)
	f.Add(Stored{Note: []byte("a note\n"), Token: der}.Encode())
	f.Add([]byte("hooktrail/timestamp/v1\nAA==\n\nx"))
	f.Add([]byte("hooktrail/timestamp/v1\nAB==\n\nx"))
	f.Add([]byte("hooktrail/timestamp/v1\nAA==\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseStored(text)
		if err != nil {
			return
		}
		if again := s.Encode(); !bytes.Equal(again, text) {
			t.Errorf("%q is read as %q", text, again)
		}
	})
}
