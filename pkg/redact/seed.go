package redact

const natsSeed = "own-nats-seed"

const seedSize = 58

// findSeeds uses no keywords, because a keyword as short as "su" is in every text.
func findSeeds(list []finding, text string) []finding {
	for end := seedSize; end <= len(text); {
		start := end - seedSize
		wrong := end - 1
		for wrong >= start && isBase32(text[wrong]) {
			wrong--
		}
		if wrong >= start {
			end = wrong + 1 + seedSize
			continue
		}
		for end < len(text) && isBase32(text[end]) {
			end++
		}
		if isSeed(text, start, end) {
			list = append(list, finding{rule: natsSeed, start: start, end: end, secret: true})
		}
		end += 1 + seedSize
	}
	return list
}

func isSeed(text string, start, end int) bool {
	return end-start == seedSize && text[start] == 'S' && isKeyType(text[start+1]) &&
		(start == 0 || !isWord(text[start-1])) && (end == len(text) || !isWord(text[end]))
}

func isBase32(c byte) bool { return 'A' <= c && c <= 'Z' || '2' <= c && c <= '7' }

func isKeyType(c byte) bool {
	switch c {
	case 'A', 'C', 'N', 'O', 'U', 'X': // account, cluster, server, operator, user, curve
		return true
	}
	return false
}
