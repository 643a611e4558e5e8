package subjects

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxID is the maximum length of an id in bytes. Four escaped ids must fit into a NATS control line
// of 4 KiB.
const MaxID = 256

// ErrID means that an id is invalid.
var ErrID = errors.New("id cannot be used")

const (
	emptyToken = "="
	hexDigits  = "0123456789ABCDEF"
)

// Token encodes id as one token of a subject. Only letters, digits, "_" and "-" stay unchanged. It
// rejects an id that is longer than [MaxID] or not valid UTF-8.
func Token(id string) (string, error) {
	if len(id) > MaxID {
		return "", fmt.Errorf("%w: %d bytes long, at most %d are allowed", ErrID, len(id), MaxID)
	}
	if !utf8.ValidString(id) {
		return "", fmt.Errorf("%w: not valid UTF-8", ErrID)
	}
	if id == "" {
		return emptyToken, nil
	}
	return escape(id), nil
}

func escape(id string) string {
	first := 0
	for first < len(id) && isPlain(id[first]) {
		first++
	}
	if first == len(id) {
		return id
	}
	b := make([]byte, first, len(id)+2*(len(id)-first))
	copy(b, id)
	for i := first; i < len(id); i++ {
		c := id[i]
		if isPlain(c) {
			b = append(b, c)
		} else {
			b = append(b, '=', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return string(b)
}

// ParseToken decodes a token. It rejects texts that [Token] never returns.
func ParseToken(token string) (string, error) {
	if token == emptyToken {
		return "", nil
	}
	id, bad := unescape(token)
	if bad >= 0 {
		return "", fmt.Errorf("token %q: byte %d is not part of an encoded id", clip(token), bad)
	}
	if id == "" || len(id) > MaxID || !utf8.ValidString(id) {
		return "", fmt.Errorf("token %q: not an encoded id", clip(token))
	}
	return id, nil
}

func unescape(token string) (id string, bad int) {
	first := 0
	for first < len(token) && isPlain(token[first]) {
		first++
	}
	if first == len(token) {
		return token, -1
	}
	b := make([]byte, first, len(token))
	copy(b, token)
	for i := first; i < len(token); i++ {
		c := token[i]
		if isPlain(c) {
			b = append(b, c)
			continue
		}
		if c != '=' || i+2 >= len(token) {
			return "", i
		}
		hi, lo := strings.IndexByte(hexDigits, token[i+1]), strings.IndexByte(hexDigits, token[i+2])
		if hi < 0 || lo < 0 || isPlain(byte(hi<<4|lo)) {
			return "", i
		}
		b = append(b, byte(hi<<4|lo))
		i += 2
	}
	return string(b), -1
}

// FileName encodes id as a file name. A short id becomes its [Token], and a long id becomes the
// start of the token with a hash. Different ids have different names on a case-sensitive file
// system.
func FileName(id string) (string, error) {
	const most = 200
	token, err := Token(id)
	if err != nil || len(token) <= most {
		return token, err
	}
	// A plain token never contains "==", so no other id has this token.
	sum := sha256.Sum256([]byte(id))
	return token[:128] + "==" + hex.EncodeToString(sum[:]), nil
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
