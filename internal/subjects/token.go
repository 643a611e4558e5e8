package subjects

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxID is the length of the longest id, in bytes: four of them, each byte
// escaped to three, fit into the server's control line of 4 KiB.
const MaxID = 256

// ErrID is wrapped by every refusal of an id.
var ErrID = errors.New("id cannot be used")

const (
	emptyToken = "="
	hexDigits  = "0123456789ABCDEF"
)

// Token encodes id as one subject token: letters, digits, "_" and "-" stand for
// themselves, every other byte is "=" and two hex digits, and the empty id is
// "=" alone. It refuses ids that are longer than [MaxID] or not UTF-8.
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
	plain := 0
	for plain < len(id) && isPlain(id[plain]) {
		plain++
	}
	if plain == len(id) {
		return id, nil
	}
	b := make([]byte, 0, len(id)+2*(len(id)-plain))
	for i := range len(id) {
		c := id[i]
		if isPlain(c) {
			b = append(b, c)
		} else {
			b = append(b, '=', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return string(b), nil
}

// ParseToken returns the id that [Token] encodes to token. It refuses every
// token that Token never returns.
func ParseToken(token string) (string, error) {
	if token == emptyToken {
		return "", nil
	}
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		c := token[i]
		if isPlain(c) {
			b.WriteByte(c)
			continue
		}
		if c != '=' || i+2 >= len(token) {
			return "", fmt.Errorf("token %q: byte %d is not of an encoded id", token, i)
		}
		hi, lo := strings.IndexByte(hexDigits, token[i+1]), strings.IndexByte(hexDigits, token[i+2])
		if hi < 0 || lo < 0 || isPlain(byte(hi<<4|lo)) {
			return "", fmt.Errorf("token %q: byte %d is not of an encoded id", token, i)
		}
		b.WriteByte(byte(hi<<4 | lo))
		i += 2
	}
	id := b.String()
	if id == "" || len(id) > MaxID || !utf8.ValidString(id) {
		return "", fmt.Errorf("token %q: not an encoded id", token)
	}
	return id, nil
}

// FileName encodes id as the name of one file or folder, at most 200 bytes
// long. Ids whose token is longer keep its start and the hash of the whole.
func FileName(id string) (string, error) {
	token, err := Token(id)
	if err != nil || len(token) <= 200 {
		return token, err
	}
	sum := sha256.Sum256([]byte(id))
	return token[:128] + "==" + hex.EncodeToString(sum[:]), nil
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}
