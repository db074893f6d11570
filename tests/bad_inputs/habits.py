"""What people bring from other libraries: words, orders of arguments, forgotten steps."""

from bad_inputs.calls import DECODER, ENCODER, IMAGES, MODEL
from bad_inputs.rows import Bad, Call, bad

PAIR = f"({IMAGES}, np.arange(8))"
LOOP = MODEL.format(ENCODER, DECODER, 5)

COMMANDS: list[Bad] = [
    bad("train xysquares", "It is a name: --data xysquares.", "words"),
    bad("train beta_vae", "It is a name: --objective beta_vae.", "words"),
    bad(
        "--import json train objective=json:JSONDecodr", "did you mean 'json:JSONDecoder'?", "words"
    ),
    bad("--import json train objective=json:q", "The module json has no class q.", "words"),
]

CALLS = [
    Call("unknot.train(epochs=3)", "train has no setting 'epochs'; it is called 'steps' here.", "words"),
    Call("unknot.train(learning_rate=1e-3)", "it is called 'lr' here", "words"),
    Call("unknot.train(z_dim=6)", "it is called 'latents' here", "words"),
    Call("unknot.train(random_state=0)", "it is called 'seeds' here", "words"),
    Call("unknot.train(seeds='3')", "got 3, of the type str", "words"),
    Call("unknot.train(progress='yes')", "progress must be of the type bool", "silent"),
    Call("unknot.train(callback=lambda run: True)", "callback is called as callback(run, logs)", "traceback"),
    Call("unknot.train('beta_vae', 'dsprites')", "'dsprites': it is the name of a dataset", "words"),
    Call("unknot.train('xysquares', 'conv64')", "'conv64': it is the name of a net", "words"),
    Call("unknot.train('xysquares', torch.nn.Linear(2, 2))", "It needs the method terms.", "words"),
    Call("unknot.train('xysquares', net=lambda x: x)", "a function without arguments", "traceback"),
    Call("unknot.train('xysquares', net=(torch.nn.Linear(2, 2), torch.nn.Linear))", "the class Linear", "words"),
    Call(f"unknot.train({PAIR})", "unknot.dataset(images, labels=labels)", "words"),
    Call(f"unknot.train(torch.utils.data.DataLoader({PAIR}))", "use loader.dataset", "words"),
    Call("unknot.Model(unknot.objectives.VAE, None, None, n_data=5)", "VAE(...)", "silent"),
    Call(f"{LOOP}.losses(np.zeros((2, 1, 3, 3)))", "must be of the type Tensor", "traceback"),
    Call(f"{LOOP}.losses(torch.full((2, 1, 3, 3), 255.0))", "these lie in [255, 255]", "silent"),
    Call(f"{LOOP}.losses(torch.zeros(2, 1, 4, 4))", "The encoder does not take (2, 1, 4, 4)", "traceback"),
    Call(f"{LOOP}.step(torch.zeros(()))", "losses must be of the type Losses", "traceback"),
    Call("unknot.evaluate(torch.nn.Linear(3, 4), 'xysquares')", "The encoder does not take images", "traceback"),
    Call("unknot.evaluate(lambda x: x.flatten(1)[:, :4], 'xysquares', metrics=['mig@mine'])", "no protocol 'mine'", "words"),
    Call("unknot.metrics.mig('codes.npz', factors)", "np.load('codes.npz')", "traceback"),
    Call("unknot.metrics.mig(codes.T, factors)", "use codes.T", "words"),
    Call("unknot.metrics.mig(np.array([['a', 1]] * 20, object), [1] * 20)", "they come first", "words"),
    Call("unknot.study(3)", "name must be of the type str", "traceback"),
    Call("unknot.study('new', data='xysquares').table()", "study.run() first", "words"),
]  # fmt: skip
