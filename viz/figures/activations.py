"""The activation functions by name: what they are called, their formula with z for what enters, and as NumPy."""

NAMES = {
    "relu": "ReLU",
    "gelu": "GELU",
    "gelu_tanh": "GELU (tanh)",
    "silu": "SiLU",
    "quick_gelu": "quick GELU",
    "relu_squared": "ReLU²",
    "tanh": "tanh",
    "identity": "z",
}
FORMULAS = {  # as HTML, "z" stands for the number that enters
    "relu": "max(0, z)",
    "gelu": "½ · z · (1 + erf(z ÷ √2))",
    "gelu_tanh": "½ · z · (1 + tanh(√(2 ÷ π) · (z + 0.044715 · z³)))",
    "silu": "z ÷ (1 + exp(−z))",
    "quick_gelu": "z ÷ (1 + exp(−1.702 · z))",
    "relu_squared": "max(0, z)²",
    "tanh": "tanh(z)",
    "identity": "z",
}
NUMPY = {
    "relu": "max(0.0, z)",
    "gelu": "0.5 * z * (1 + math.erf(z / math.sqrt(2)))",
    "gelu_tanh": "0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))",
    "silu": "z / (1 + np.exp(-z))",
    "quick_gelu": "z / (1 + np.exp(-1.702 * z))",
    "relu_squared": "max(0.0, z) ** 2",
    "tanh": "np.tanh(z)",
    "identity": "z",
}
