"""A small segmentation job: images from a real DataLoader, a network, an optimizer, validation. Its jobs are beside it."""
import os

os.environ.setdefault('OMP_NUM_THREADS', '1')
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402

SIDE, CLASSES, BATCH = 64, 8, 16
STEP_SECONDS = 0.3  # keeps the rate of tensor storages far below the rate at which memscope pauses their recording


class Images(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.full((3, SIDE, SIDE), index % 251 / 251.0), torch.full((SIDE, SIDE), index % CLASSES)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.second = nn.Conv2d(16, 16, 1)
        self.head = nn.Conv2d(16, CLASSES, 1)

    def forward(self, pictures):
        features = torch.relu(self.first(pictures))
        features = torch.relu(self.second(features))
        return self.head(features)  # MAKES


class Trainer:
    """One optimizer step for each batch; a job overrides validate() and calls run()."""

    def __init__(self, stage, dataset, workers=2, step_seconds=STEP_SECONDS):
        torch.set_num_threads(1)
        torch.manual_seed(7)
        self.stage, self.step_seconds = stage, step_seconds
        self.device = 'cuda' if torch.cuda.is_available() and os.environ.get('JOB_DEVICE') == 'cuda' else 'cpu'
        self.net = Net().to(self.device)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01, momentum=0.9)
        self.loader = DataLoader(dataset, batch_size=BATCH, num_workers=workers, persistent_workers=True, multiprocessing_context='fork')
        self.pictures = torch.rand(32, 3, SIDE, SIDE, device=self.device)
        self.steps = 0

    def train_step(self, pictures, labels):
        self.net.train()
        scores = self.net(pictures.to(self.device))
        loss = nn.functional.cross_entropy(scores, labels.to(self.device))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        return loss.item()

    def warm_up(self):
        """Runs two steps, so that memory that is allocated only once is allocated before the test begins."""
        batch = next(iter(DataLoader(Images(BATCH), batch_size=BATCH)))
        for _ in range(2):
            self.train_step(*batch)

    def validate(self):
        pass

    def run(self, enough):
        """Trains until enough() says so; the dataset is repeated. Ends between two steps."""
        while True:
            for pictures, labels in self.loader:
                self.stage.pace(self.step_seconds)
                self.train_step(pictures, labels)
                self.validate()
                if enough() or not self.stage.goes_on():
                    return
