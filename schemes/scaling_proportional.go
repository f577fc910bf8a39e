package schemes

// ScalingProportional turns the first pairs alone, by the frequencies of the whole
// head (Gemma 4).
const ScalingProportional = "proportional"

var typeProportional = ScalingType{Name: ScalingProportional, Title: "Proportional RoPE", Source: "transformers, _compute_proportional_rope_parameters",
	OwnAmplitude: true, Complete: always, Frequencies: divided, Float32: dividedFloat32}
