package arch

// ScaledAttention are the architectures that put YaRN's amplitude into the
// attention scale as well.
var ScaledAttention = map[string]bool{"deepseek2": true, "deepseek2-ocr": true, "deepseek32": true, "mistral4": true, "glm-dsa": true}

// ScaledWithNone are the architectures whose sliding layers ignore type none.
var ScaledWithNone = map[string]bool{
	"afmoe": true, "gemma2": true, "gpt-oss": true, "llama4": true, "maple": true, "smallthinker": true, "spark2_5": true,
}

// FixedRope are the architectures whose rotation no key can change, with the
// reason as a sentence.
var FixedRope = map[string]string{
	"cogvlm":        "llama.cpp's cogvlm turns with base 10000 and no scaling, whatever the keys say",
	"deepseek2-ocr": "llama.cpp's deepseek2-ocr has a fixed rotation: another base aborts, and scaling keys only distort its attention scale",
}

// Encoders are the architectures without RoPE that see in both directions
// whatever the key says.
var Encoders = []string{"bert", "jina-bert-v2", "t5encoder"}
