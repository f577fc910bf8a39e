package arch

// ScalesAttention reports whether an architecture puts YaRN's amplitude into the
// attention scale as well.
func ScalesAttention(family string) bool {
	switch family {
	case "deepseek2", "deepseek2-ocr", "deepseek32", "mistral4", "glm-dsa":
		return true
	}
	return false
}

// ScalesWithNone reports whether the sliding layers of an architecture ignore type none.
func ScalesWithNone(family string) bool {
	switch family {
	case "afmoe", "gemma2", "gpt-oss", "llama4", "maple", "smallthinker", "spark2_5":
		return true
	}
	return false
}

// FixedRope says, as a sentence, why no key can change an architecture's rotation; empty where keys can.
func FixedRope(family string) string {
	switch family {
	case "cogvlm":
		return "llama.cpp's cogvlm turns with base 10000 and no scaling, whatever the keys say"
	case "deepseek2-ocr":
		return "llama.cpp's deepseek2-ocr has a fixed rotation: another base aborts, and scaling keys only distort its attention scale"
	}
	return ""
}

// Encoders are the architectures without RoPE that see in both directions
// whatever the key says.
var Encoders = []string{"bert", "jina-bert-v2", "t5encoder"}
